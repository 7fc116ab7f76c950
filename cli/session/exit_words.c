// SPDX-License-Identifier: Apache-2.0
#include "cli/session/exit_words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session/last_words.h"
#include "report/summary/crash_kind.h"

enum { WORDS_BYTES_MAX = 64 << 10, WORDS_STATUS_MAX = 255 };

static const char words_first_line[] = "crashhook words 1\n";

// A words_key is one line of the head.
static const struct words_key {
    const char *name;
    size_t at; // of the member: a string
} words_keys[] = {
    { "kind", offsetof(struct exit_words, kind) },
    { "message", offsetof(struct exit_words, message) },
    { "executable", offsetof(struct exit_words, executable) },
    { "home", offsetof(struct exit_words, home) },
    { "release", offsetof(struct exit_words, release) },
    { "environment", offsetof(struct exit_words, environment) },
    { "tags", offsetof(struct exit_words, tags) },
};

// words_number reads a number of the head; other text is as if it were not there.
static int64_t words_number(const char *text, int64_t most, int64_t otherwise)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *text != 0 && *end == 0 && value >= 0 && value <= most ? value : otherwise;
}

static void take_words_value(struct exit_words *words, const char *name, char *value)
{
    for (size_t i = 0; i < sizeof(words_keys) / sizeof(words_keys[0]); i++) {
        if (strcmp(name, words_keys[i].name) == 0 && value[0] != 0)
            memcpy((char *)words + words_keys[i].at, &value, sizeof(value));
    }
    if (strcmp(name, "pid") == 0)
        words->pid = words_number(value, INT32_MAX, 0);
    if (strcmp(name, "status") == 0)
        words->status = words_number(value, WORDS_STATUS_MAX, -1);
}

// read_words_head reads `NAME: VALUE` lines up to an empty one, and returns what
// follows.
static char *read_words_head(struct exit_words *words, char *line)
{
    while (*line != 0 && *line != '\n') {
        char *end = line + strcspn(line, "\n");
        char *next = end + (*end != 0);
        *end = 0;
        char *value = strstr(line, ": ");
        if (value != NULL) {
            *value = 0;
            take_words_value(words, line, value + strlen(": "));
        }
        line = next;
    }
    return line + (*line == '\n');
}

// keep_words_apart replaces what would end the text early.
static void keep_words_apart(struct text *bytes)
{
    for (size_t i = 0; i < bytes->size; i++) {
        if (bytes->bytes[i] == 0)
            bytes->bytes[i] = ' ';
    }
}

// judge_words finds kind and message where the head did not give them.
static void judge_words(struct exit_words *words)
{
    enum crash_kind kind = crash_kind_of(words->kind);
    struct last_words found;
    last_words_find(words->said, (int)words->status, &found);
    if (kind != CRASH_KIND_PANIC && kind != CRASH_KIND_FATAL_EXIT &&
        kind != CRASH_KIND_UNCAUGHT_EXCEPTION)
        words->kind = found.kind != NULL ? found.kind : "fatal-exit";
    // Go writes its first line of a fatal error to standard error alone.
    const char *line = words->said + strspn(words->said, "\n");
    if (words->message == NULL && found.text != NULL)
        text_append(&words->found, found.text, found.size);
    else if (words->message == NULL)
        text_append(&words->found, line, strcspn(line, "\n"));
    if (words->found.size != 0 && text_ok(&words->found))
        words->message = words->found.bytes;
}

enum ch_status exit_words_read(int fd, struct exit_words *out)
{
    struct exit_words words = { .status = -1 };
    enum ch_status status = text_read(&words.bytes, fd, WORDS_BYTES_MAX);
    if (status == CH_ERR_LIMIT)
        status = CH_OK;
    if (status == CH_OK && !text_ok(&words.bytes))
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK &&
        (words.bytes.size < strlen(words_first_line) ||
         memcmp(words.bytes.bytes, words_first_line, strlen(words_first_line)) != 0))
        status = CH_ERR_MALFORMED;
    if (status != CH_OK) {
        exit_words_deinit(&words);
        return status;
    }
    keep_words_apart(&words.bytes);
    words.said = read_words_head(&words, words.bytes.bytes + strlen(words_first_line));
    judge_words(&words);
    *out = words;
    return CH_OK;
}

void exit_words_deinit(struct exit_words *words)
{
    text_deinit(&words->bytes);
    text_deinit(&words->found);
    *words = (struct exit_words){ 0 };
}
