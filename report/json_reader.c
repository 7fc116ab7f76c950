// SPDX-License-Identifier: Apache-2.0
#include "report/json_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_scan.h"

enum { KEY_MAX = 128, SHARED_MAX = 1024 };

// A level is an array or object that is being read.
struct level {
    json_t *of;
    bool shares;  // equal objects in it become one value
    bool shared;  // it may become one itself
    size_t start; // in the text
};

// A shared value and the bytes it was read from.
struct shared {
    const char *from;
    size_t size;
    json_t *value; // borrowed from the tree
};

struct reader {
    struct json_scan scan;
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

// read_by_jansson makes the value of a token that is more than its bytes.
static json_t *read_by_jansson(const struct reader *r,
                               const struct json_scan_token *token)
{
    return json_loadb(r->scan.bytes + token->start, r->scan.at - token->start,
                      JSON_DECODE_ANY, NULL);
}

static json_t *read_integer(const struct json_scan_token *token)
{
    bool negative = token->bytes[0] == '-';
    json_int_t value = 0; // the scan takes no more digits than it has room for
    for (size_t i = negative; i < token->size; i++)
        value = value * 10 + (token->bytes[i] - '0');
    return json_integer(negative ? -value : value);
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

// read_shared takes an object that was read before, byte for byte; it begins at start.
static bool read_shared(struct reader *r, size_t start)
{
    const char *from = r->scan.bytes + start;
    const char *close = memchr(from, '}', r->scan.size - start);
    if (close == NULL)
        return false;
    size_t size = (size_t)(close - from) + 1;
    const struct shared *known = place_of(r, from, size);
    if (known->value == NULL || known->size != size ||
        memcmp(known->from, from, size) != 0)
        return false;
    r->scan.at = start + size;
    return put_in(r, json_incref(known->value));
}

static bool enter(struct reader *r, const struct json_scan_token *token)
{
    const struct level *around = innermost(r);
    bool object = token->kind == JSON_SCAN_OBJECT;
    struct level level = { .of = object ? json_object() : json_array(),
                           .start = token->start };
    if (around != NULL) {
        level.shared = object && around->shares;
        level.shares =
            !object && json_is_object(around->of) && strcmp(r->key, "frames") == 0;
    }
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
    r->depth--;
    if (!level->shared)
        return;
    const char *from = r->scan.bytes + level->start;
    size_t size = r->scan.at - level->start;
    *place_of(r, from, size) = (struct shared){ from, size, level->of };
}

// read_value reads a value, or of one that has others in it the beginning.
static bool read_value(struct reader *r, const struct json_scan_token *token)
{
    const struct level *level = innermost(r);
    switch (token->kind) {
    case JSON_SCAN_OBJECT:
        if (level != NULL && level->shares && read_shared(r, token->start))
            return true;
        return enter(r, token);
    case JSON_SCAN_ARRAY:
        return enter(r, token);
    case JSON_SCAN_STRING:
        return put_in(r, token->plain ? json_stringn_nocheck(token->bytes, token->size)
                                      : read_by_jansson(r, token));
    case JSON_SCAN_INTEGER:
        return put_in(r, read_integer(token));
    case JSON_SCAN_REAL:
        return put_in(r, read_by_jansson(r, token));
    case JSON_SCAN_TRUE:
        return put_in(r, json_true());
    case JSON_SCAN_FALSE:
        return put_in(r, json_false());
    case JSON_SCAN_NULL:
        return put_in(r, json_null());
    default:
        return false;
    }
}

// read_key reads the rest of a member up to its value, whose token it leaves in token.
static bool read_key(struct reader *r, struct json_scan_token *token)
{
    if (token->kind != JSON_SCAN_STRING || !token->plain || token->size >= KEY_MAX)
        return false;
    memcpy(r->key, token->bytes, token->size);
    r->key[token->size] = 0;
    if (json_scan_next(&r->scan).kind != JSON_SCAN_COLON)
        return false;
    *token = json_scan_next(&r->scan);
    return true;
}

// read_next reads the next value of the innermost level, or its end.
static bool read_next(struct reader *r)
{
    const struct level *level = innermost(r);
    bool object = json_is_object(level->of);
    bool first =
        object ? json_object_size(level->of) == 0 : json_array_size(level->of) == 0;
    struct json_scan_token token = json_scan_next(&r->scan);
    if (token.kind == (object ? JSON_SCAN_OBJECT_END : JSON_SCAN_ARRAY_END)) {
        leave(r);
        return true;
    }
    if (!first) {
        if (token.kind != JSON_SCAN_COMMA)
            return false;
        token = json_scan_next(&r->scan);
    }
    return (!object || read_key(r, &token)) && read_value(r, &token);
}

json_t *json_reader_read(const char *bytes, size_t size)
{
    struct reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->scan = (struct json_scan){ .bytes = bytes, .size = size };
    struct json_scan_token token = json_scan_next(&r->scan);
    bool whole = token.kind == JSON_SCAN_OBJECT || token.kind == JSON_SCAN_ARRAY;
    bool read = whole && read_value(r, &token);
    while (read && r->depth != 0)
        read = read_next(r);
    json_t *root = r->root;
    token = json_scan_next(&r->scan);
    if (!read || token.start != size) {
        json_decref(root);
        root = NULL;
    }
    free(r);
    return root;
}
