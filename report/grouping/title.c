// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/title.h"

#include <string.h>

#include "report/file/report_tree.h"
#include "report/grouping/scoped_name.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"
#include "report/summary/panic_text.h"

enum { SAID_MAX = 72, PLACE_MAX = 110 };

#define TITLE_WORDS(name, word, title, sentence, said) [CRASH_KIND_##name] = (title),

// what_words is what happened, in the words of a person.
static const char *const what_words[] = { CRASH_KINDS(TITLE_WORDS)[CRASH_KIND_OTHER] =
                                              NULL };

const char *title_of_kind(enum crash_kind kind)
{
    return what_words[kind];
}

// append_short appends the first line of text in at most limit bytes, cut between
// characters.
static void append_short(const char *text, size_t limit, struct text *out)
{
    size_t length = strcspn(text, "\r\n");
    if (length <= limit) {
        text_append(out, text, length);
        return;
    }
    length = limit;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    text_append(out, text, length);
    text_append_string(out, "\u2026");
}

static void append_quoted(const char *text, struct text *out)
{
    text_append_string(out, " \"");
    append_short(text, SAID_MAX, out);
    text_append_string(out, "\"");
}

// title_append_panic quotes what a panic says; what it says nothing of is not quoted.
static void title_append_panic(const char *message, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) said = { 0 };
    size_t size;
    const char *begin = panic_text(message, &size);
    text_append(&said, begin, size);
    if (text_ok(&said) && said.size != 0)
        append_quoted(said.bytes, out);
}

// append_expression appends the expression of an assertion's message. False: it has
// none.
static bool append_expression(const char *message, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) expression = { 0 };
    size_t size;
    const char *begin = assertion_text(message, &size);
    if (begin != NULL)
        text_append(&expression, begin, size);
    if (!text_ok(&expression) || expression.size == 0)
        return false;
    append_quoted(expression.bytes, out);
    return true;
}

// append_exception appends the type of an exception, without the scope that the place
// has too, and its text.
static void append_exception(const json_t *exception, const struct group_key *key,
                             struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    const char *type = report_string(exception, "type");
    const char *what = report_string(exception, "what");
    scoped_name(type, &name);
    const char *said = name.size != 0 ? name.bytes : type;
    size_t scope = (size_t)(scoped_name_last(said) - said);
    if (key->place.size > scope && strncmp(said, key->place.bytes, scope) == 0)
        said += scope;
    append_short(said, SAID_MAX, out);
    if (what != NULL && what[0] != 0)
        append_quoted(what, out);
}

// append_message appends what the program said, but for what its kind says already.
static void append_message(enum crash_kind kind, const char *message, struct text *out)
{
    static const char terminate[] = "terminate called after throwing an instance of ";
    if (message == NULL || message[0] == 0)
        return;
    if (strncmp(message, terminate, sizeof(terminate) - 1) == 0)
        message += sizeof(terminate) - 1;
    enum crash_said said = crash_kind_said(kind);
    if (said == CRASH_SAID_PANIC)
        title_append_panic(message, out);
    else if (said != CRASH_SAID_ASSERTION || !append_expression(message, out))
        append_quoted(message, out);
}

static void append_what(const json_t *crash, const struct group_key *key,
                        struct text *out)
{
    enum crash_kind kind = crash_words_kind(crash);
    const char *words = title_of_kind(kind);
    const char *name = report_string(crash, "name");
    if (words == NULL && name != NULL && strcmp(name, "SIGSEGV") == 0)
        words = "bad pointer";
    const char *message = report_string(crash, "message");
    const json_t *exception = json_object_get(crash, "exception");
    if (report_string(exception, "type") != NULL) {
        append_exception(exception, key, out);
        return;
    }
    text_append_string(out, words != NULL ? words : name != NULL ? name : "crash");
    append_message(kind, message, out);
}

static void append_program(const json_t *report, struct text *out)
{
    const char *program = report_program(report);
    if (program == NULL || program[0] == 0)
        return;
    text_append_string(out, " \u00b7 ");
    append_short(program, SAID_MAX, out);
}

void title_write(const json_t *report, const struct group_key *key, struct text *out)
{
    append_what(json_object_get(report, "crash"), key, out);
    if (key->place.size != 0) {
        text_append_string(out, " in ");
        append_short(key->place.bytes, PLACE_MAX, out);
    }
    append_program(report, out);
}

void title_write_live(const json_t *report, struct text *out)
{
    text_append_string(out, "live report");
    append_program(report, out);
}
