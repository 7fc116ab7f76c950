// SPDX-License-Identifier: Apache-2.0
//
// How it works: read_one takes one term after the other off the text: a key by
// read_key, a value by take_value, whose form the key decides (read_range, read_tag,
// read_place, ...). OR and parentheses join terms (join_term).
// Invariants: values are copied into the search, which has room for SEARCH_SIZE bytes
// and STORE_TERMS terms; search_write gives text that reads as the same terms.
#include "collector/requests/search.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collector/database/timestamp.h"
#include "collector/entry/entry_marks.h"
#include "collector/entry/user_name.h"
#include "collector/query/store_query.h"

enum { KEY_SIZE = 32, EDITS_MAX = 2, SIGNAL_DIGITS = 5 };

// A key consists of these, and does not begin with the last.
#define KEY_BYTES "abcdefghijklmnopqrstuvwxyz_-"

// keys are the words before a colon.
static const struct {
    const char *name;
    enum store_key key;
} keys[] = {
    { "program", STORE_KEY_PROGRAM },
    { "release", STORE_KEY_RELEASE },
    { "first_release", STORE_KEY_FIRST_RELEASE },
    { "environment", STORE_KEY_ENVIRONMENT },
    { "host", STORE_KEY_HOST },
    { "frame", STORE_KEY_FRAME },
    { "file", STORE_KEY_FILE },
    { "build", STORE_KEY_BUILD },
    { "kind", STORE_KEY_KIND },
    { "signal", STORE_KEY_SIGNAL },
    { "message", STORE_KEY_MESSAGE },
    { "tag", STORE_KEY_TAG },
    { "user", STORE_KEY_TAG },
    { "assignee", STORE_KEY_ASSIGNEE },
    { "project", STORE_KEY_PROJECT },
    { "is", STORE_KEY_OPEN },
    { "status", STORE_KEY_STATUS },
    { "since", STORE_KEY_SINCE },
    { "until", STORE_KEY_UNTIL },
    { "time", STORE_KEY_TIME },
    { "reports", STORE_KEY_REPORTS },
    { "machines", STORE_KEY_MACHINES },
    { "users", STORE_KEY_USERS },
    { "first_seen", STORE_KEY_FIRST_SEEN },
    { "last_seen", STORE_KEY_LAST_SEEN },
    { "kernel", STORE_KEY_KERNEL },
    { "processor", STORE_KEY_PROCESSOR },
    { "uptime", STORE_KEY_UPTIME },
    { "thread", STORE_KEY_THREAD },
    { "address", STORE_KEY_ADDRESS },
    { "register", STORE_KEY_REGISTER },
    { "argument", STORE_KEY_ARGUMENT },
    { "depth", STORE_KEY_DEPTH },
    { "freed-in", STORE_KEY_FREED_IN },
};
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

// states are the values of `is:`. A group is new in the release it was first seen in,
// which the reader of the filter names.
static const struct {
    const char *name;
    const char *value;
    enum store_key key;
    bool negated;
} states[] = {
    { "any", "", STORE_KEY_ANY, false },
    { "open", "", STORE_KEY_OPEN, false },
    { "new", "", STORE_KEY_NEW, false },
    { "regressed", "regressed", STORE_KEY_STATUS, false },
    { "rising", "", STORE_KEY_RISING, false },
    { "resolved", "resolved", STORE_KEY_STATUS, false },
    { "ignored", "ignored", STORE_KEY_STATUS, false },
    { "assigned", "", STORE_KEY_ASSIGNED, false },
    { "unassigned", "", STORE_KEY_ASSIGNED, true },
};
enum { STATE_COUNT = sizeof(states) / sizeof(states[0]) };

static CH_PRINTF(2, 3) enum ch_status
    search_fail(struct search *search, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(search->why, sizeof(search->why), format, arguments);
    va_end(arguments);
    return CH_ERR_MALFORMED;
}

static size_t search_key_index(const char *name)
{
    size_t i = 0;
    while (i < KEY_COUNT && strcmp(keys[i].name, name) != 0)
        i++;
    return i;
}

bool search_is_key(const char *key)
{
    return search_key_index(key) < KEY_COUNT;
}

bool search_leave_out(const char *fields)
{
    while (*fields != 0) {
        char name[KEY_SIZE];
        size_t length = strcspn(fields, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, fields);
        size_t index = search_key_index(name);
        enum store_facet facet =
            index < KEY_COUNT ? store_query_facet(keys[index].key) : FACET_TITLE;
        if (strcmp(name, "line") == 0)
            facet = FACET_LINE;
        if (facet < FACET_KIND)
            return false;
        entry_marks_leave_out(facet);
        fields += length + (fields[length] == ',');
    }
    return true;
}

const char *search_nearest_key(const char *key)
{
    const char *found = NULL;
    size_t fewest = EDITS_MAX + 1;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t edits = edit_distance(key, keys[i].name);
        if (edits < fewest) {
            fewest = edits;
            found = keys[i].name;
        }
    }
    return found;
}

// keep_bytes copies size bytes and a NUL into the search; NULL: they do not fit.
static const char *keep_bytes(struct search *search, const char *bytes, size_t size)
{
    if (size >= sizeof(search->bytes) - search->used)
        return NULL;
    char *kept = search->bytes + search->used;
    memcpy(kept, bytes, size);
    kept[size] = 0;
    search->used += size + 1;
    return kept;
}

static enum ch_status read_state(struct search *search, const char *value,
                                 struct store_term *out)
{
    for (size_t i = 0; i < STATE_COUNT; i++) {
        if (strcmp(value, states[i].name) != 0)
            continue;
        out->key = states[i].key;
        out->value = states[i].value;
        out->negated ^= states[i].negated;
        return CH_OK;
    }
    return search_fail(search,
                       "is:%.40s is not one of any, open, new, regressed, rising,"
                       " resolved, ignored, assigned and unassigned",
                       value);
}

static enum ch_status read_status(struct search *search, const char *value)
{
    static const char *const statuses[] = { "open", "resolved", "ignored",
                                            "regressed" };
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (strcmp(value, statuses[i]) == 0)
            return CH_OK;
    }
    return search_fail(search, "status is not open, resolved, ignored or regressed");
}

// read_signal accepts 11, SIGSEGV, or SEGV in either case.
static enum ch_status read_signal(struct search *search, const char *value,
                                  struct store_term *out)
{
    size_t digits = strspn(value, "0123456789");
    if (value[digits] == 0 && digits <= SIGNAL_DIGITS && strtol(value, NULL, 10) != 0) {
        out->number = strtol(value, NULL, 10);
        return CH_OK;
    }
    char name[KEY_SIZE];
    bool whole = strncasecmp(value, "SIG", 3) == 0;
    snprintf(name, sizeof(name), "SIG%s", whole ? value + 3 : value);
    for (char *c = name; *c != 0; c++)
        *c = (char)toupper((unsigned char)*c);
    out->key = STORE_KEY_SIGNAL_NAME;
    out->value = keep_bytes(search, name, strlen(name));
    return out->value != NULL ? CH_OK : search_fail(search, "the search is too long");
}

void search_write_tag(const char *key, const char *value, struct text *out)
{
    for (; *key != 0; key++) {
        if (*key == ':' || *key == '\\')
            text_append_string(out, "\\");
        text_append(out, key, 1);
    }
    text_appendf(out, ":%s", value);
}

// read_tag takes `key:value` apart; a backslash stands before a colon of the key.
static enum ch_status read_tag(struct search *search, const char *value,
                               struct store_term *out)
{
    char key[sizeof(((struct entry_tag *)NULL)->key)];
    size_t length = 0;
    for (; *value != 0 && *value != ':' && length + 1 < sizeof(key); value++) {
        value += *value == '\\' && value[1] != 0;
        key[length++] = *value;
    }
    if (*value != ':' || length == 0)
        return search_fail(search, "tag is not key:value");
    out->tag = keep_bytes(search, key, length);
    out->value = value + 1;
    return out->tag != NULL ? CH_OK : search_fail(search, "the search is too long");
}

static enum ch_status read_timestamp(struct search *search, const char *key,
                                     const char *value, struct store_term *out)
{
    if (timestamp_read(value, search->now_ms, &out->number) == CH_OK)
        return CH_OK;
    return search_fail(search,
                       "%s is not a time such as 2026-11-21, 2026-11-21T09:00:00Z or"
                       " 24h",
                       key);
}

// read_bound reads one end of a range: a number, or, where the key is of times, a time.
// of_day: the time is a day, which a range includes.
static enum ch_status read_bound(struct search *search, const char *key,
                                 const char *value, bool *of_day, int64_t *out)
{
    bool of_number = strcmp(key, "reports") == 0 || strcmp(key, "machines") == 0 ||
                     strcmp(key, "users") == 0;
    struct store_term term = { .number = 0 };
    char *end = NULL;
    *of_day = false;
    if (!of_number) {
        enum ch_status status = read_timestamp(search, key, value, &term);
        *of_day = strlen(value) == strlen("2026-11-21");
        *out = term.number;
        return status;
    }
    *out = strtoll(value, &end, 10);
    if (isdigit((unsigned char)value[0]) && *end == 0 && *out < STORE_NUMBER_MAX)
        return CH_OK;
    return search_fail(search, "%s is not a number, such as >30, <=5 or 10..20", key);
}

// read_range reads `>30`, `>=30`, `<30`, `<=30`, `10..20`, `10..` or `30`, as a first
// and a last value.
static enum ch_status read_range(struct search *search, const char *key,
                                 const char *value, int64_t *out_low, int64_t *out_high)
{
    char first[KEY_SIZE];
    const char *dots = strstr(value, "..");
    const char *bound = value + strspn(value, "<>=");
    bool less = value[0] == '<';
    bool more = value[0] == '>';
    bool equal = bound != value && bound[-1] == '=';
    bool of_day = false;
    enum ch_status status = CH_OK;
    *out_low = 0;
    *out_high = STORE_NUMBER_MAX;
    if (dots != NULL && dots != value && (size_t)(dots - value) < sizeof(first)) {
        memcpy(first, value, (size_t)(dots - value));
        first[dots - value] = 0;
        status = read_bound(search, key, first, &of_day, out_low);
        if (status != CH_OK || dots[2] == 0)
            return status;
        status = read_bound(search, key, dots + 2, &of_day, out_high);
        *out_high += of_day ? TIMESTAMP_DAY_MS - 1 : 0;
        return status;
    }
    int64_t number = 0;
    status = read_bound(search, key, bound, &of_day, &number);
    int64_t day = of_day ? TIMESTAMP_DAY_MS - 1 : 0;
    if (!less)
        *out_low = more && !equal ? number + day + 1 : number;
    if (!more)
        *out_high = less && !equal ? number - 1 : number + day;
    return status;
}

static enum ch_status read_range_term(struct search *search, const char *key,
                                      struct store_term *out)
{
    enum ch_status status =
        read_range(search, key, out->value, &out->number, &out->high);
    if (status == CH_OK && (out->high <= 0 || out->high < out->number))
        return search_fail(search, "there is nothing in the range %s:%.40s", key,
                           out->value);
    return status;
}

// read_place has a file with a line find the ends of places: of line 57, none of 571.
static void read_place(struct store_term *out)
{
    const char *colon = strrchr(out->value, ':');
    size_t digits = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
    out->at_end = digits != 0 && colon[1 + digits] == 0;
    out->wildcard |= out->at_end;
}

static enum ch_status read_value(struct search *search, const char *key,
                                 struct store_term *out)
{
    switch (out->key) {
    case STORE_KEY_OPEN:
        return read_state(search, out->value, out);
    case STORE_KEY_STATUS:
        return read_status(search, out->value);
    case STORE_KEY_FILE:
        read_place(out);
        return CH_OK;
    case STORE_KEY_SIGNAL:
        return read_signal(search, out->value, out);
    case STORE_KEY_TAG:
        if (strcmp(key, "user") == 0)
            out->tag = USER_NAME_TAG;
        return out->tag != NULL ? CH_OK : read_tag(search, out->value, out);
    case STORE_KEY_SINCE:
    case STORE_KEY_UNTIL:
        return read_timestamp(search, key, out->value, out);
    case STORE_KEY_TIME:
    case STORE_KEY_REPORTS:
    case STORE_KEY_MACHINES:
    case STORE_KEY_USERS:
    case STORE_KEY_FIRST_SEEN:
    case STORE_KEY_LAST_SEEN:
        return read_range_term(search, key, out);
    default:
        return CH_OK;
    }
}

static enum ch_status fail_key(struct search *search, const char *key)
{
    const char *nearest = search_nearest_key(key);
    if (nearest != NULL)
        return search_fail(search, "there is no key `%.40s`, did you mean `%s`?", key,
                           nearest);
    return search_fail(
        search, "there is no key `%.40s`; put quotes around a word with a colon", key);
}

// takes_wildcards is false for the keys whose values are not compared as texts.
static bool takes_wildcards(enum store_key key)
{
    return key == STORE_KEY_FIRST_RELEASE || key == STORE_KEY_ASSIGNEE ||
           key == STORE_KEY_PROJECT ||
           (key < STORE_KEY_SINCE && key != STORE_KEY_SIGNAL);
}

// join_term makes the last term an alternative of the one before it.
static enum ch_status join_term(struct search *search)
{
    struct store_term *term = &search->terms[search->count - 1];
    if ((term[-1].key < STORE_KEY_FIRST_RELEASE) !=
        (term->key < STORE_KEY_FIRST_RELEASE))
        return search_fail(
            search,
            "OR cannot join `%.40s` and `%.40s`: one is about a report, one about its"
            " group, as are is:, machines:, assignee: and words of one or two letters",
            search->said[search->count - 2].value,
            search->said[search->count - 1].value);
    term[-1].alternative = true;
    term->alternative = true;
    term->joined = true;
    return CH_OK;
}

// add_term adds a term; value is the search's own, key may be NULL.
static enum ch_status add_term(struct search *search, const char *key,
                               const char *value, bool negated, bool literal)
{
    size_t n = search->count;
    struct store_term term = { .key = store_word_key(value),
                               .value = value,
                               .negated = negated };
    size_t index = key != NULL ? search_key_index(key) : 0;
    if (key != NULL && index == KEY_COUNT)
        return fail_key(search, key);
    if (n == STORE_TERMS)
        return search_fail(search, "a search has at most %d terms", STORE_TERMS);
    if (value[0] == 0 && key != NULL)
        return search_fail(search, "`%s:` has no value", key);
    if (value[0] == 0)
        return CH_OK;
    search->said[n].key = key != NULL ? keys[index].name : NULL;
    search->said[n].value = value;
    if (key != NULL)
        term.key = keys[index].key;
    term.wildcard = key != NULL && !literal && strchr(value, '*') != NULL &&
                    takes_wildcards(term.key);
    enum ch_status status =
        key != NULL ? read_value(search, keys[index].name, &term) : CH_OK;
    if (status != CH_OK)
        return status;
    if (key != NULL && term.key == STORE_KEY_FILE && term.at_end) {
        if (entry_marks_lack(FACET_LINE))
            return search_fail(search, "this collector does not search by `file:` with"
                                       " a line");
    } else if (key != NULL && entry_marks_lack(store_query_facet(term.key))) {
        return search_fail(search, "this collector does not search by `%s:`", key);
    }
    search->terms[search->count++] = term;
    return CH_OK;
}

enum ch_status search_add(struct search *search, const char *key, const char *value)
{
    const char *kept = keep_bytes(search, value, strlen(value));
    if (kept == NULL)
        return search_fail(search, "the search is too long");
    return add_term(search, key, kept, false, true);
}

static bool is_gap(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// read_key takes `key:` and gives its name; false: what follows is a word. Two colons
// belong to a function's name.
static bool read_key(const char **input, char out[KEY_SIZE])
{
    const char *name = *input;
    size_t length = strspn(name, KEY_BYTES);
    if (name[0] == '-' || name[length] != ':' || length == 0 || length >= KEY_SIZE ||
        name[length + 1] == ':')
        return false;
    memcpy(out, name, length);
    out[length] = 0;
    *input += length + 1;
    return true;
}

// take_value takes a quoted string, or everything up to the next space. of_tag: a
// string may follow a tag's key and colon. A quote that is not closed ends with the
// text, because people see results while they type.
static char *take_value(struct search *search, const char **input, bool of_tag,
                        bool *out_quoted)
{
    char *begin = search->bytes + search->used;
    size_t room = sizeof(search->bytes) - search->used;
    size_t size = 0;
    bool quoted = false;
    const char *at = *input;
    for (; *at != 0; at++) {
        if (!quoted && *at == '"' &&
            (size == 0 || (of_tag && begin[size - 1] == ':'))) {
            quoted = true;
            continue;
        }
        if (quoted ? *at == '"' : is_gap(*at))
            break;
        at += quoted && *at == '\\' && at[1] != 0;
        if (size + 1 >= room)
            return NULL;
        begin[size++] = *at;
    }
    *input = at + (quoted && *at != 0);
    if (size >= room)
        return NULL;
    begin[size] = 0;
    search->used += size + 1;
    *out_quoted = quoted;
    return begin;
}

// take_word takes a word as it is if that is what comes next, and a gap or the end
// follows it.
static bool take_word(const char **input, const char *word)
{
    const char *end = *input + strlen(word);
    if (strncmp(*input, word, strlen(word)) != 0 || (*end != 0 && !is_gap(*end)))
        return false;
    *input = end;
    return true;
}

// opens_alternatives is true where a parenthesis has OR in it: others belong to words,
// such as names of functions.
static bool opens_alternatives(const char *at)
{
    if (*at != '(')
        return false;
    for (at++; *at != 0 && *at != ')'; at++) {
        const char *ahead = at;
        if (is_gap(at[-1]) && take_word(&ahead, "OR"))
            return true;
    }
    return false;
}

// read_one adds the next term. closing: a parenthesis that ends it is not part of it,
// and is then set to false.
static enum ch_status read_one(struct search *search, const char **input, bool *closing)
{
    char key[KEY_SIZE];
    bool negated = **input == '-' && (*input)[1] != 0 && !is_gap((*input)[1]);
    *input += negated;
    bool has_key = read_key(input, key);
    bool quoted = false;
    bool of_tag = has_key && strcmp(key, "tag") == 0;
    char *value = take_value(search, input, of_tag, &quoted);
    if (value == NULL)
        return search_fail(search, "the search is too long");
    size_t length = strlen(value);
    if (*closing && !quoted && length != 0 && value[length - 1] == ')') {
        value[length - 1] = 0;
        *closing = false;
    } else if (*closing && quoted && **input == ')') {
        ++*input;
        *closing = false;
    }
    return add_term(search, has_key ? key : NULL, value, negated, quoted);
}

static void skip_gaps(const char **input)
{
    while (is_gap(**input))
        ++*input;
}

enum ch_status search_read(struct search *search, const char *text)
{
    bool closing = false;
    bool joins = false;
    size_t begun = search->count;
    for (skip_gaps(&text); *text != 0; skip_gaps(&text)) {
        size_t before = search->count;
        if (take_word(&text, "AND"))
            continue;
        if (take_word(&text, "OR")) {
            if (joins || before == begun)
                break;
            joins = true;
            continue;
        }
        if (!closing && opens_alternatives(text)) {
            text++;
            closing = true;
        }
        enum ch_status status = read_one(search, &text, &closing);
        if (status == CH_OK && joins && search->count != before)
            status = join_term(search);
        if (status != CH_OK)
            return status;
        joins &= search->count == before;
    }
    if (joins || *text != 0)
        return search_fail(search, "OR needs a term before and after it; put quotes"
                                   " around the word");
    return CH_OK;
}

const char *search_project(const struct search *search)
{
    const char *project = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct store_term *term = &search->terms[i];
        if (term->key == STORE_KEY_PROJECT && !term->negated && !term->alternative &&
            !term->wildcard)
            project = term->value;
    }
    return project;
}

static bool is_user(const struct store_term *term)
{
    return term->key == STORE_KEY_TAG && strcmp(term->tag, USER_NAME_TAG) == 0 &&
           !term->wildcard && !user_name_is_hidden(term->value);
}

bool search_names_user(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (is_user(&search->terms[i]))
            return true;
    }
    return false;
}

enum ch_status search_hide_users(struct search *search, const char *salt,
                                 const char *project, bool plain)
{
    for (size_t i = 0; i < search->count; i++) {
        struct store_term *term = &search->terms[i];
        char hidden[USER_NAME_SIZE];
        if (!is_user(term))
            continue;
        user_name_hide(salt, project, term->value, hidden);
        const char *kept = keep_bytes(search, hidden, strlen(hidden));
        if (kept == NULL)
            return search_fail(search, "the search is too long");
        search->said[i].user = plain ? kept : term->value;
        if (plain)
            continue;
        term->value = kept;
        search->said[i].key = USER_NAME_TAG;
        search->said[i].value = kept;
    }
    return CH_OK;
}

// needs_quotes returns true if a value would be read as something else without them.
static bool needs_quotes(const char *key, const char *value)
{
    const char *input = value;
    char name[KEY_SIZE];
    return value[0] == 0 || strpbrk(value, " \t\r\n\"\\()") != NULL ||
           (key != NULL && strchr(value, '*') != NULL) ||
           (key == NULL && (value[0] == '-' || strcmp(value, "OR") == 0 ||
                            strcmp(value, "AND") == 0 || read_key(&input, name)));
}

void search_write_term(struct text *out, const char *key, const char *value)
{
    if (key != NULL)
        text_appendf(out, "%s:", key);
    if (!needs_quotes(key, value)) {
        text_append_string(out, value);
        return;
    }
    text_append_string(out, "\"");
    for (; *value != 0; value++) {
        if (*value == '"' || *value == '\\')
            text_append_string(out, "\\");
        text_append(out, value, 1);
    }
    text_append_string(out, "\"");
}

bool search_was_negated(const struct search *search, size_t i)
{
    bool own = search->terms[i].key == STORE_KEY_ASSIGNED &&
               strcmp(search->said[i].value, "unassigned") == 0;
    return search->terms[i].negated != own;
}

void search_write(const struct search *search, size_t but, struct text *out)
{
    bool first = true;
    bool begun = false; // an alternative of the next one was written
    for (size_t i = 0; i < search->count; i++) {
        const struct store_term *term = &search->terms[i];
        begun &= term->joined;
        if (i == but)
            continue;
        text_append_string(out, first ? "" : begun ? " OR " : " ");
        text_append_string(out, search_was_negated(search, i) ? "-" : "");
        if (term->wildcard && !term->at_end)
            text_appendf(out, "%s:%s", search->said[i].key, search->said[i].value);
        else
            search_write_term(out, search->said[i].key, search->said[i].value);
        first = false;
        begun = true;
    }
}
