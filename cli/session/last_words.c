// SPDX-License-Identifier: Apache-2.0
#include "cli/session/last_words.h"

#include <string.h>

enum { WORDS_MAX = 2000 };

// A runtime_words is how the last words of a runtime begin a line, with which status it
// exits (-1: any), and whether more must stand in the same line.
static const struct runtime_words {
    const char *begin;
    const char *with;
    const char *kind;
    int status;
} runtimes[] = {
    { "thread '", " panicked at ", "panic", 101 },
    { "panic: ", "", "panic", 2 },
    { "fatal error: ", "", "fatal-exit", 2 }, // Go's: out of memory, all asleep
    { "runtime: ", "", "fatal-exit", 2 },
    { "==", "ERROR: ", "sanitizer", -1 }, // ==PID==ERROR: AddressSanitizer: ...
    { "WARNING: ThreadSanitizer: ", "", "sanitizer", 66 },
    { "Traceback (most recent call last):", "", "uncaught-exception", 1 },
    { "Uncaught ", "", "uncaught-exception", 1 },
    { "terminate called ", "", "uncaught-exception", -1 },
};

static const struct runtime_words *words_of_line(const char *line, size_t size,
                                                 int exit_status)
{
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        const struct runtime_words *words = &runtimes[i];
        size_t length = strlen(words->begin);
        if (size >= length && memcmp(line, words->begin, length) == 0 &&
            (words->status < 0 || words->status == exit_status) &&
            memmem(line, size, words->with, strlen(words->with)) != NULL)
            return words;
    }
    return NULL;
}

// is_undefined is how UBSan begins what it says: FILE:LINE:COLUMN: runtime error: ...
static bool is_undefined(const char *line, size_t size)
{
    static const char mark[] = ": runtime error: ";
    return memmem(line, size, mark, sizeof(mark) - 1) != NULL;
}

// words_size is where a message ends: before an empty line, or a stack.
static size_t words_size(const char *text)
{
    const char *end = strstr(text, "\n\n");
    const char *note = strstr(text, "\nnote: run with `RUST_BACKTRACE");
    const char *stack = strstr(text, "\nstack backtrace:");
    size_t size = end != NULL ? (size_t)(end - text) : strlen(text);
    if (note != NULL && (size_t)(note - text) < size)
        size = (size_t)(note - text);
    if (stack != NULL && (size_t)(stack - text) < size)
        size = (size_t)(stack - text);
    while (size != 0 && text[size - 1] == '\n')
        size--;
    return size < WORDS_MAX ? size : WORDS_MAX;
}

// last_line is the last line of text: of a Python traceback the exception.
static const char *last_line(const char *text)
{
    const char *last = text;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        if (at[1] != 0 && at[1] != '\n')
            last = at + 1;
    }
    return last;
}

void last_words_find(const char *text, int exit_status, struct last_words *out)
{
    *out = (struct last_words){ 0 };
    for (const char *line = text; *line != 0;) {
        size_t size = strcspn(line, "\n");
        const struct runtime_words *words = words_of_line(line, size, exit_status);
        if (words != NULL || is_undefined(line, size)) {
            out->kind = words != NULL ? words->kind : "sanitizer";
            out->text = line;
        }
        line += size + (line[size] == '\n');
    }
    if (out->text != NULL && strncmp(out->text, "Traceback", strlen("Traceback")) == 0)
        out->text = last_line(out->text);
    if (out->text != NULL)
        out->size = words_size(out->text);
}
