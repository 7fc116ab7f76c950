// SPDX-License-Identifier: Apache-2.0
#include "cli/session/command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/utf8.h"

static bool argument_is_hex(const char *argument)
{
    size_t length = strspn(argument, "0123456789abcdefABCDEF");
    return argument[length] == 0 && length % 2 == 0;
}

// decode_in_place replaces hex digits, with white space between them, by their bytes.
static enum ch_status decode_in_place(struct text *text, const char *name)
{
    size_t digits = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (!isspace((unsigned char)text->bytes[i]))
            text->bytes[digits++] = text->bytes[i];
    }
    size_t size = 0;
    enum ch_status status =
        hex_decode(text->bytes, digits, text->bytes, text->size, &size);
    if (status == CH_OK)
        text->size = size;
    else
        command_fail("'%s' starts as hex text but is not: a character is no hex digit, "
                     "or their number is odd",
                     name);
    return status;
}

enum ch_status data_argument_read(const char *argument, struct text *out)
{
    if (argument_is_hex(argument)) {
        text_append_string(out, argument);
        if (text_ok(out))
            return decode_in_place(out, argument);
        command_fail("'%s': out of memory", argument);
        return CH_ERR_NO_MEMORY;
    }
    enum ch_status status = command_read_file(argument, out);
    if (status == CH_OK && out->size > 0 && out->bytes[0] == '0')
        status = decode_in_place(out, argument);
    return status;
}

void json_print_string(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    putchar('"');
    while (size > 0) {
        uint32_t character;
        size_t length = utf8_decode(at, size, &character);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (character < 0x20 || (character >= 0x7f && character <= 0x9f))
            printf("\\u%04x", (unsigned)character); // terminals obey these, too
        else
            fwrite(at, 1, length, stdout);
        length = length != 0 ? length : 1;
        at += length;
        size -= length;
    }
    putchar('"');
}

// INPUT_MAX_BYTES is the largest input file that a command reads.
#define INPUT_MAX_BYTES ((size_t)4 << 30)

CH_PRINTF(1, 0) static void print_message(const char *format, va_list arguments)
{
    // A message must appear after the output that came before it.
    fflush(stdout);
    fputs("crashhook: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int command_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return COMMAND_FAILED;
}

int command_misused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return COMMAND_USAGE;
}

const struct option *command_options(const struct command *command)
{
    return command->make_options != NULL ? command->make_options() : command->options;
}

enum ch_status command_read_file(const char *path, struct text *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum ch_status status = fd < 0 ? CH_ERR_IO : text_read(out, fd, INPUT_MAX_BYTES);
    if (status != CH_OK)
        command_fail("cannot read '%s': %s", path,
                     status == CH_ERR_IO      ? strerror(errno)
                     : status == CH_ERR_LIMIT ? "it is larger than 4 GiB"
                                              : "out of memory");
    if (!is_stdin && fd >= 0)
        close(fd);
    return status;
}

enum ch_status command_read_json(const char *path, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) input = { 0 };
    json_error_t error;
    enum ch_status status = command_read_file(path, &input);
    if (status != CH_OK)
        return status;
    json_t *json =
        json_loadb(input.bytes != NULL ? input.bytes : "", input.size, 0, &error);
    if (json == NULL) {
        bool is_stdin = strcmp(path, "-") == 0;
        (void)command_fail("%s%s%s is not JSON: line %d: %s", is_stdin ? "" : "'",
                           is_stdin ? "stdin" : path, is_stdin ? "" : "'", error.line,
                           error.text);
        return CH_ERR_MALFORMED;
    }
    *out = json;
    return CH_OK;
}

int command_print_text(enum ch_status status, const struct text *text)
{
    if (status != CH_OK)
        return command_fail("cannot print the report: %s",
                            status == CH_ERR_LIMIT ? "it is too large"
                                                   : ch_status_name(status));
    (void)fwrite(text->bytes, 1, text->size, stdout);
    return COMMAND_DONE;
}

bool command_parse_address(const char *text, uint64_t *out)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (text[0] == 0 || text[strspn(text, "0123456789abcdefABCDEF")] != 0)
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 16);
    if (errno != 0)
        return false;
    *out = value;
    return true;
}

bool command_parse_pid(const char *text, pid_t *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value <= 0 || value > INT_MAX)
        return false;
    *out = (pid_t)value;
    return true;
}
