// SPDX-License-Identifier: Apache-2.0
#include "report/json_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 128, DIGITS_MAX = 18, SHARED_MAX = 1024 };

// A level is an array or object that is being read.
struct level {
    json_t *of;
    bool shares;      // equal objects in it become one value
    const char *from; // where it begins, where it may be shared itself; NULL: it is not
};

// A shared value and the bytes it was read from.
struct shared {
    const char *from;
    size_t size;
    json_t *value; // borrowed from the tree
};

struct reader {
    const char *at;
    const char *end;
    json_t *root;
    size_t depth;
    char key[KEY_MAX]; // of the member that is being read
    struct level levels[JSON_READER_DEPTH_MAX];
    struct shared shared[SHARED_MAX];
};

static struct level *innermost(struct reader *r)
{
    return r->depth != 0 ? &r->levels[r->depth - 1] : NULL;
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool take(struct reader *r, char wanted)
{
    if (peek(r) != wanted || r->at == r->end)
        return false;
    r->at++;
    return true;
}

// put_in takes value over and puts it where the reader is.
static bool put_in(struct reader *r, json_t *value)
{
    const struct level *level = innermost(r);
    if (value == NULL)
        return false;
    if (level == NULL) {
        r->root = value;
        return true;
    }
    if (json_is_array(level->of))
        return json_array_append_new(level->of, value) == 0;
    if (json_object_get(level->of, r->key) == NULL)
        return json_object_set_new_nocheck(level->of, r->key, value) == 0;
    json_decref(value);
    return false;
}

// plain_end is the end of a string that is as it is written, which begins at `at`;
// NULL: it is not.
static const char *plain_end(const char *at, const char *end)
{
    while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
        at++;
    return at < end && *at == '"' ? at : NULL;
}

// string_end is the end of any string.
static const char *string_end(const char *at, const char *end)
{
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' && ++at == end)
            return NULL;
    return at < end ? at : NULL;
}

// read_by_jansson reads the value from the reader's place to end.
static bool read_by_jansson(struct reader *r, const char *end)
{
    const char *from = r->at;
    r->at = end;
    return put_in(r, json_loadb(from, (size_t)(end - from), JSON_DECODE_ANY, NULL));
}

static bool read_string(struct reader *r)
{
    const char *from = r->at + 1;
    const char *end = plain_end(from, r->end);
    if (end == NULL) {
        end = string_end(from, r->end);
        return end != NULL && read_by_jansson(r, end + 1);
    }
    r->at = end + 1;
    return put_in(r, json_stringn_nocheck(from, (size_t)(end - from)));
}

static bool read_number(struct reader *r)
{
    const char *end = r->at;
    json_int_t value = 0;
    bool plain = true;
    while (end < r->end && strchr("+-.0123456789Ee", *end) != NULL && *end != 0) {
        plain = plain && *end >= '0' && *end <= '9';
        end++;
    }
    size_t length = (size_t)(end - r->at);
    if (!plain || length == 0 || length > DIGITS_MAX || (length > 1 && *r->at == '0'))
        return length != 0 && read_by_jansson(r, end);
    while (r->at < end)
        value = value * 10 + (*r->at++ - '0');
    return put_in(r, json_integer(value));
}

static bool read_word(struct reader *r, const char *word, json_t *value)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return put_in(r, value);
}

// place_of is where the size bytes at from are kept, or looked for.
static struct shared *place_of(struct reader *r, const char *from, size_t size)
{
    uint64_t hash = size;
    for (size_t at = 0; at < size; at += sizeof(hash)) {
        uint64_t word = 0;
        memcpy(&word, from + at, size - at < sizeof(word) ? size - at : sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return &r->shared[(hash ^ hash >> 16) % SHARED_MAX];
}

// read_shared takes an object that was read before, byte for byte.
static bool read_shared(struct reader *r)
{
    const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
    if (close == NULL)
        return false;
    size_t size = (size_t)(close - r->at) + 1;
    const struct shared *known = place_of(r, r->at, size);
    if (known->value == NULL || known->size != size ||
        memcmp(known->from, r->at, size) != 0)
        return false;
    r->at += size;
    return put_in(r, json_incref(known->value));
}

static bool enter(struct reader *r, bool object)
{
    const struct level *around = innermost(r);
    struct level level = { .of = object ? json_object() : json_array() };
    if (around != NULL && object && around->shares)
        level.from = r->at;
    if (around != NULL && !object && json_is_object(around->of))
        level.shares = strcmp(r->key, "frames") == 0;
    r->at++;
    if (r->depth == JSON_READER_DEPTH_MAX) {
        json_decref(level.of);
        return false;
    }
    if (!put_in(r, level.of))
        return false;
    r->levels[r->depth++] = level;
    return true;
}

static void leave(struct reader *r)
{
    const struct level *level = innermost(r);
    r->at++;
    r->depth--;
    if (level->from == NULL)
        return;
    size_t size = (size_t)(r->at - level->from);
    *place_of(r, level->from, size) = (struct shared){ level->from, size, level->of };
}

// read_value reads a value, or of one that has others in it the beginning.
static bool read_value(struct reader *r)
{
    const struct level *level = innermost(r);
    switch (peek(r)) {
    case '{':
        return (level != NULL && level->shares && read_shared(r)) || enter(r, true);
    case '[':
        return enter(r, false);
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true", json_true());
    case 'f':
        return read_word(r, "false", json_false());
    case 'n':
        return read_word(r, "null", json_null());
    default:
        return read_number(r);
    }
}

static bool read_key(struct reader *r)
{
    const char *from = r->at + 1;
    const char *end = peek(r) == '"' ? plain_end(from, r->end) : NULL;
    if (end == NULL || end - from >= KEY_MAX)
        return false;
    memcpy(r->key, from, (size_t)(end - from));
    r->key[end - from] = 0;
    r->at = end + 1;
    skip_blanks(r);
    if (!take(r, ':'))
        return false;
    skip_blanks(r);
    return true;
}

// read_next reads the next value of the innermost level, or its end.
static bool read_next(struct reader *r)
{
    const struct level *level = innermost(r);
    bool object = json_is_object(level->of);
    bool first =
        object ? json_object_size(level->of) == 0 : json_array_size(level->of) == 0;
    skip_blanks(r);
    if (peek(r) == (object ? '}' : ']')) {
        leave(r);
        return true;
    }
    if (!first) {
        if (!take(r, ','))
            return false;
        skip_blanks(r);
    }
    return (!object || read_key(r)) && read_value(r);
}

json_t *json_reader_read(const char *bytes, size_t size)
{
    struct reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->at = bytes;
    r->end = bytes + size;
    skip_blanks(r);
    bool read = (peek(r) == '{' || peek(r) == '[') && read_value(r);
    while (read && r->depth != 0)
        read = read_next(r);
    skip_blanks(r);
    json_t *root = r->root;
    if (!read || r->at != r->end) {
        json_decref(root);
        root = NULL;
    }
    free(r);
    return root;
}
