// SPDX-License-Identifier: Apache-2.0
//
// What people look at: the source lines around a symbol, and the lines of
// backtrace_symbols(3).
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backtrace/symbol.h"
#include "crashhook/backtrace.h"

enum { LINE_BYTES = 512, SNIPPET_BYTES = 1 << 20 };

// open_source_file opens a regular file: opening a device or a pipe might wait.
static FILE *open_source_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    FILE *file =
        fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        close(fd);
    return file;
}

int crashhook_symbol_snippet(const struct crashhook_symbol *symbol, unsigned around,
                             char **out)
{
    char line[LINE_BYTES];
    struct text text = { .limit_bytes = SNIPPET_BYTES };
    const uint32_t wanted = symbol->location.line;
    if (symbol->location.path == NULL || wanted == 0)
        return ENOENT;
    FILE *file = open_source_file(symbol->location.path);
    if (file == NULL)
        return ENOENT;
    const uint32_t first = wanted > around ? wanted - around : 1;
    bool begins = true; // line is the start of one
    uint32_t number = 1;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (begins && number >= first)
            text_appendf(&text, "%c %6" PRIu32 " | %.*s\n",
                         number == wanted ? '>' : ' ', number,
                         (int)strcspn(line, "\r\n"), line);
        begins = strchr(line, '\n') != NULL;
        number += begins;
        if (number > wanted && number - wanted > around)
            break;
    }
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || number < wanted || !text_ok(&text)) {
        bool full = !text_ok(&text);
        text_deinit(&text);
        return full ? ENOMEM : failed ? EIO : ENOENT;
    }
    char *made = symbol_finish(&text);
    if (made == NULL)
        return ENOMEM;
    *out = made;
    return 0;
}

// add_symbols_line appends what is known of one address.
static void add_symbols_line(struct text *text, uint64_t address,
                             const struct crashhook_symbol *symbol)
{
    const char *path = symbol != NULL && symbol->image != NULL
                           ? crashhook_image_path(symbol->image)
                           : NULL;
    bool is_named = symbol != NULL && strcmp(symbol->raw_name, "<unknown>") != 0;
    text_append_string(text, path != NULL ? path : "?");
    if (is_named)
        text_appendf(text, "(%s+0x%" PRIx64 ")", symbol->raw_name,
                     (uint64_t)symbol->offset);
    text_appendf(text, " [0x%" PRIx64 "]", address);
}

// join_lines gives one allocation with the pointers and the lines, which text has with
// a NUL after each.
static char **join_lines(const struct text *text, size_t count)
{
    const size_t pointers = count * sizeof(char *);
    char **lines = malloc(pointers + text->size + 1);
    if (lines == NULL)
        return NULL;
    char *at = (char *)lines + pointers;
    if (text->size != 0)
        memcpy(at, text->bytes, text->size);
    for (size_t i = 0; i < count; i++) {
        lines[i] = at;
        at += strlen(at) + 1;
    }
    return lines;
}

char **crashhook_backtrace_symbols(void *const *addresses, int count)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named = NULL;
    struct text text = { 0 };
    const size_t wanted = count > 0 ? (size_t)count : 0;
    // Without inlined calls each address has one frame.
    const unsigned options = CRASHHOOK_USE_SYMBOL_CACHE;
    if (crashhook_backtrace_from_addresses((const uint64_t *)(const void *)addresses,
                                           wanted, CRASHHOOK_FRAME_RETURN_ADDRESS,
                                           &backtrace) != 0)
        return NULL;
    (void)crashhook_backtrace_symbolicate(backtrace, NULL, options, &named);
    for (size_t i = 0; i < wanted; i++) {
        const struct crashhook_symbolicated_frame *frame =
            named != NULL ? crashhook_symbolicated_backtrace_at(named, i) : NULL;
        add_symbols_line(&text, (uintptr_t)addresses[i],
                         frame != NULL ? frame->symbol : NULL);
        text_append(&text, "", 1);
    }
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
    char **lines = text_ok(&text) ? join_lines(&text, wanted) : NULL;
    text_deinit(&text);
    return lines;
}
