// SPDX-License-Identifier: Apache-2.0
//
// How it works: the writer goes through the tree with a stack of levels (tree_level). A
// scalar is written when it is met; an array or object after all it holds, with their
// number. Strings and shared containers that were written before become numbers
// (find_string_slot, find_shared_slot).
//
// The reader has a stack of values. A scalar is pushed; an array or object takes the
// last N values off the stack and is pushed in their place (finish_tree_level). At the
// end one value is left.
//
// Invariants: no function recurs, so depth costs memory only, and it is limited. The
// reader counts how many values a walk through each value would visit (tree_value),
// shared ones once per use, and refuses a tree that exceeds the limit: a few bytes
// could otherwise stand for a tree that no walk ends. Every number from the bytes is
// checked against what was read.
#include "report/json/tree_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"

enum tree_kind {
    TREE_NULL,
    TREE_FALSE,
    TREE_TRUE,
    TREE_INTEGER, // SLEB128
    TREE_REAL,    // 8 bytes
    TREE_STRING,  // ULEB128 size, then the bytes; it gets the next number
    TREE_AGAIN,   // ULEB128 number of a string
    TREE_ARRAY,   // ULEB128 n: the n values before
    TREE_OBJECT,  // ULEB128 n: the n pairs of a string and a value before
    TREE_KEEP,    // the array or object before gets the next number of those
    TREE_SAME,    // ULEB128 number of an array or object
};

enum { LEB_MAX = 10, STRINGS_FIRST = 256, SHARED_FIRST = 64 };

// string_slot is a string that was written; number is one more than its own, 0: free.
struct string_slot {
    const char *bytes;
    size_t size;
    uint64_t hash;
    uint32_t number;
};

// shared_slot is an array or object that was written and may come again; NULL: free.
struct shared_slot {
    const json_t *of;
    uint32_t number;
};

// tree_level is an array or object that is being written.
struct tree_level {
    json_t *of;
    size_t next;    // of an array
    void *iterator; // of an object; NULL: all its members are written
};

struct tree_writer {
    struct text *out;
    struct string_slot *strings;
    size_t string_room; // a power of two
    uint32_t string_count;
    struct shared_slot *shared;
    size_t shared_room; // a power of two
    uint32_t shared_count;
    struct tree_level *levels;
    size_t level_room;
    size_t depth;
    enum ch_status status;
};

static uint64_t hash_string(const char *bytes, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        bytes += sizeof(word);
    }
    for (; size > 0; size--)
        hash = (hash ^ (uint8_t)*bytes++) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

// find_string_slot gives the slot of the string, or the free one where it belongs.
static struct string_slot *find_string_slot(const struct tree_writer *w,
                                            const struct string_slot *wanted)
{
    size_t at = wanted->hash & (w->string_room - 1);
    for (;; at = (at + 1) & (w->string_room - 1)) {
        struct string_slot *slot = &w->strings[at];
        if (slot->number == 0 ||
            (slot->hash == wanted->hash && slot->size == wanted->size &&
             memcmp(slot->bytes, wanted->bytes, wanted->size) == 0))
            return slot;
    }
}

// reserve_string keeps the table at most half full.
static bool reserve_string(struct tree_writer *w)
{
    if (2 * ((size_t)w->string_count + 1) <= w->string_room)
        return true;
    struct string_slot *before = w->strings;
    size_t count = w->string_room;
    size_t room = count != 0 ? 2 * count : STRINGS_FIRST;
    struct string_slot *more = calloc(room, sizeof(*more));
    if (more == NULL)
        return false;
    w->strings = more;
    w->string_room = room;
    for (size_t i = 0; i < count; i++)
        if (before[i].number != 0)
            *find_string_slot(w, &before[i]) = before[i];
    free(before);
    return true;
}

static void write_kind(struct tree_writer *w, enum tree_kind kind, uint64_t number)
{
    uint8_t bytes[1 + LEB_MAX] = { (uint8_t)kind };
    size_t size = 1;
    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (uint8_t)(number | 0x80);
    bytes[size++] = (uint8_t)number;
    text_append(w->out, bytes, size);
}

static void write_signed(struct tree_writer *w, int64_t number)
{
    uint8_t bytes[1 + LEB_MAX] = { TREE_INTEGER };
    size_t size = 1;
    for (bool more = true; more; number >>= 7) {
        uint8_t low = number & 0x7f;
        more = !(number >> 6 == 0 || number >> 6 == -1);
        bytes[size++] = (uint8_t)(low | (more ? 0x80 : 0));
    }
    text_append(w->out, bytes, size);
}

static void write_tree_string(struct tree_writer *w, const char *bytes, size_t size)
{
    const struct string_slot wanted = { bytes, size, hash_string(bytes, size),
                                        w->string_count + 1 };
    if (!reserve_string(w)) {
        w->status = CH_ERR_NO_MEMORY;
        return;
    }
    struct string_slot *slot = find_string_slot(w, &wanted);
    if (slot->number != 0) {
        write_kind(w, TREE_AGAIN, slot->number - 1);
        return;
    }
    *slot = wanted;
    w->string_count++;
    write_kind(w, TREE_STRING, size);
    text_append(w->out, bytes, size);
}

// find_shared_slot gives the slot of an array or object, or the free one where it
// belongs.
static struct shared_slot *find_shared_slot(const struct tree_writer *w,
                                            const json_t *of)
{
    uint64_t hash = (uint64_t)(uintptr_t)of * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (w->shared_room - 1);
    while (w->shared[at].of != NULL && w->shared[at].of != of)
        at = (at + 1) & (w->shared_room - 1);
    return &w->shared[at];
}

// reserve_shared keeps the table at most half full.
static bool reserve_shared(struct tree_writer *w)
{
    if (2 * ((size_t)w->shared_count + 1) <= w->shared_room)
        return true;
    struct shared_slot *before = w->shared;
    size_t count = w->shared_room;
    size_t room = count != 0 ? 2 * count : SHARED_FIRST;
    struct shared_slot *more = calloc(room, sizeof(*more));
    if (more == NULL)
        return false;
    w->shared = more;
    w->shared_room = room;
    for (size_t i = 0; i < count; i++)
        if (before[i].of != NULL)
            *find_shared_slot(w, before[i].of) = before[i];
    free(before);
    return true;
}

// keep_shared gives a number to an array or object that others hold too, so that it is
// written once.
static void keep_shared(struct tree_writer *w, const json_t *of)
{
    static const uint8_t kind = TREE_KEEP;
    if (of->refcount == 1)
        return;
    if (!reserve_shared(w)) {
        w->status = CH_ERR_NO_MEMORY;
        return;
    }
    *find_shared_slot(w, of) = (struct shared_slot){ of, w->shared_count++ };
    text_append(w->out, &kind, sizeof(kind));
}

// write_same writes the number of an array or object that was written before. False:
// it was not.
static bool write_same(struct tree_writer *w, const json_t *of)
{
    if (of->refcount == 1 || w->shared_count == 0)
        return false;
    const struct shared_slot *slot = find_shared_slot(w, of);
    if (slot->of != NULL)
        write_kind(w, TREE_SAME, slot->number);
    return slot->of != NULL;
}

static void enter_tree_level(struct tree_writer *w, json_t *value)
{
    if (write_same(w, value))
        return;
    if (w->depth == TREE_BYTES_DEPTH_MAX) {
        w->status = CH_ERR_LIMIT;
        return;
    }
    if (!array_reserve(&w->levels, &w->level_room, w->depth, sizeof(w->levels[0]))) {
        w->status = CH_ERR_NO_MEMORY;
        return;
    }
    void *iterator = json_is_object(value) ? json_object_iter(value) : NULL;
    w->levels[w->depth++] = (struct tree_level){ .of = value, .iterator = iterator };
}

// write_tree_value writes a scalar, or enters an array or object.
static void write_tree_value(struct tree_writer *w, json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        enter_tree_level(w, value);
        return;
    case JSON_STRING:
        write_tree_string(w, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        write_signed(w, json_integer_value(value));
        return;
    case JSON_REAL: {
        const double real = json_real_value(value);
        const uint8_t kind = TREE_REAL;
        text_append(w->out, &kind, sizeof(kind));
        text_append(w->out, &real, sizeof(real));
        return;
    }
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL: {
        const uint8_t kind = json_is_null(value)   ? TREE_NULL
                             : json_is_true(value) ? TREE_TRUE
                                                   : TREE_FALSE;
        text_append(w->out, &kind, sizeof(kind));
        return;
    }
    }
}

// write_tree_next writes the next value of the innermost level, or what ends the level.
static void write_tree_next(struct tree_writer *w)
{
    struct tree_level *level = &w->levels[w->depth - 1];
    if (level->iterator != NULL) {
        const char *key = json_object_iter_key(level->iterator);
        json_t *value = json_object_iter_value(level->iterator);
        level->iterator = json_object_iter_next(level->of, level->iterator);
        write_tree_string(w, key, strlen(key));
        write_tree_value(w, value);
        return;
    }
    if (json_is_array(level->of) && level->next < json_array_size(level->of)) {
        write_tree_value(w, json_array_get(level->of, level->next++));
        return;
    }
    if (json_is_array(level->of))
        write_kind(w, TREE_ARRAY, json_array_size(level->of));
    else
        write_kind(w, TREE_OBJECT, json_object_size(level->of));
    keep_shared(w, level->of);
    w->depth--;
}

enum ch_status tree_bytes_write(const json_t *value, struct text *out)
{
    struct tree_writer w = { .out = out };
    write_tree_value(&w, (json_t *)(uintptr_t)value);
    while (w.depth != 0 && w.status == CH_OK && text_ok(out))
        write_tree_next(&w);
    free(w.strings);
    free(w.shared);
    free(w.levels);
    if (w.status == CH_OK && !text_ok(out))
        return CH_ERR_NO_MEMORY;
    return w.status;
}

// tree_value is a value that no array or object holds yet, how deep it is, and how many
// values a walk through it visits.
struct tree_value {
    json_t *value;
    uint32_t depth;
    uint32_t weight;
};

struct tree_reader {
    struct cursor input;
    struct tree_value *stack;
    size_t count;
    size_t capacity;
    json_t **strings; // by number; the reader has a reference to each
    size_t string_count;
    size_t string_capacity;
    struct tree_value *kept; // arrays and objects by number; with a reference to each
    size_t kept_count;
    size_t kept_capacity;
    size_t made;
};

// push_weighed takes the reference to of->value, which may be NULL: out of memory.
// Those that were made now, more values, count towards the limit.
static enum ch_status push_weighed(struct tree_reader *r, const struct tree_value *of,
                                   uint32_t made)
{
    json_t *value = of->value;
    enum ch_status status = value != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK &&
        (of->depth > TREE_BYTES_DEPTH_MAX || made > TREE_BYTES_VALUES_MAX - r->made))
        status = CH_ERR_LIMIT;
    r->made += status == CH_OK ? made : 0;
    if (status == CH_OK &&
        !array_reserve(&r->stack, &r->capacity, r->count, sizeof(r->stack[0])))
        status = CH_ERR_NO_MEMORY;
    if (status != CH_OK) {
        json_decref(value);
        return status;
    }
    r->stack[r->count++] = *of;
    return CH_OK;
}

// push_tree_value pushes a value that holds no others.
static enum ch_status push_tree_value(struct tree_reader *r, json_t *value)
{
    const struct tree_value of = { .value = value, .weight = 1 };
    return push_weighed(r, &of, 1);
}

static enum ch_status read_tree_string(struct tree_reader *r)
{
    uint64_t size = cursor_uleb128(&r->input);
    const uint8_t *bytes =
        size <= cursor_left(&r->input) ? cursor_take(&r->input, (size_t)size) : NULL;
    if (bytes == NULL)
        return CH_ERR_TRUNCATED;
    json_t *string = json_stringn((const char *)bytes, (size_t)size);
    if (string == NULL)
        return CH_ERR_MALFORMED; // it is not UTF-8
    if (!array_reserve(&r->strings, &r->string_capacity, r->string_count,
                       sizeof(json_t *))) {
        json_decref(string);
        return CH_ERR_NO_MEMORY;
    }
    r->strings[r->string_count++] = string;
    return push_tree_value(r, json_incref(string));
}

static enum ch_status read_tree_again(struct tree_reader *r)
{
    uint64_t number = cursor_uleb128(&r->input);
    if (!cursor_ok(&r->input) || number >= r->string_count)
        return CH_ERR_MALFORMED;
    return push_tree_value(r, json_incref(r->strings[number]));
}

// read_tree_count reads how many values of the stack an array or object takes.
static enum ch_status read_tree_count(struct tree_reader *r, size_t each, size_t *out)
{
    uint64_t count = cursor_uleb128(&r->input);
    if (!cursor_ok(&r->input))
        return CH_ERR_TRUNCATED;
    if (count > r->count / each)
        return CH_ERR_MALFORMED;
    *out = (size_t)count * each;
    return CH_OK;
}

// finish_tree_level replaces the last taken values of the stack, which now belong to
// value or are no longer needed, by value.
static enum ch_status finish_tree_level(struct tree_reader *r, size_t taken,
                                        json_t *value)
{
    struct tree_value level = { .value = value, .weight = 1 };
    for (size_t i = r->count - taken; i < r->count; i++) {
        level.depth = r->stack[i].depth > level.depth ? r->stack[i].depth : level.depth;
        level.weight += r->stack[i].weight; // all of them are within the limit
    }
    level.depth++;
    r->count -= taken;
    return push_weighed(r, &level, 1);
}

// keep_tree_value gives the last array or object a number.
static enum ch_status keep_tree_value(struct tree_reader *r)
{
    const struct tree_value *last = r->count != 0 ? &r->stack[r->count - 1] : NULL;
    if (last == NULL || (!json_is_array(last->value) && !json_is_object(last->value)))
        return CH_ERR_MALFORMED;
    if (!array_reserve(&r->kept, &r->kept_capacity, r->kept_count, sizeof(r->kept[0])))
        return CH_ERR_NO_MEMORY;
    r->kept[r->kept_count++] = *last;
    (void)json_incref(last->value);
    return CH_OK;
}

// read_tree_same pushes an array or object again. It counts with all that it holds,
// because a walk through the tree visits that again.
static enum ch_status read_tree_same(struct tree_reader *r)
{
    uint64_t number = cursor_uleb128(&r->input);
    if (!cursor_ok(&r->input) || number >= r->kept_count)
        return CH_ERR_MALFORMED;
    const struct tree_value *kept = &r->kept[number];
    (void)json_incref(kept->value);
    return push_weighed(r, kept, kept->weight);
}

static enum ch_status read_tree_array(struct tree_reader *r)
{
    size_t count;
    json_t *array = json_array();
    enum ch_status status = read_tree_count(r, 1, &count);
    if (status != CH_OK) {
        json_decref(array);
        return status;
    }
    int failed = 0;
    for (size_t i = r->count - count; i < r->count; i++)
        failed |= json_array_append_new(array, r->stack[i].value);
    status = finish_tree_level(r, count, array);
    return failed != 0 ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status read_tree_object(struct tree_reader *r)
{
    size_t count;
    json_t *object = json_object();
    enum ch_status status = read_tree_count(r, 2, &count);
    if (status != CH_OK) {
        json_decref(object);
        return status;
    }
    bool right = true;
    int failed = 0;
    for (size_t i = r->count - count; i < r->count; i += 2) {
        json_t *key = r->stack[i].value;
        // A member of a name that was there before would leave another count.
        if (json_is_string(key))
            failed |= json_object_set_new_nocheck(object, json_string_value(key),
                                                  r->stack[i + 1].value);
        else
            json_decref(r->stack[i + 1].value);
        right = right && json_is_string(key);
        json_decref(key);
    }
    status = finish_tree_level(r, count, object);
    if (!right)
        return CH_ERR_MALFORMED;
    return failed != 0 ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status read_tree_real(struct tree_reader *r)
{
    double real;
    const uint8_t *bytes = cursor_take(&r->input, sizeof(real));
    if (bytes == NULL)
        return CH_ERR_TRUNCATED;
    memcpy(&real, bytes, sizeof(real));
    json_t *value = json_real(real);
    return value != NULL ? push_tree_value(r, value) : CH_ERR_MALFORMED;
}

static enum ch_status read_tree_integer(struct tree_reader *r)
{
    int64_t number = cursor_sleb128(&r->input);
    return cursor_ok(&r->input) ? push_tree_value(r, json_integer(number))
                                : CH_ERR_TRUNCATED;
}

static enum ch_status read_tree_value(struct tree_reader *r)
{
    switch ((enum tree_kind)cursor_u8(&r->input)) {
    case TREE_NULL:
        return push_tree_value(r, json_null());
    case TREE_FALSE:
        return push_tree_value(r, json_false());
    case TREE_TRUE:
        return push_tree_value(r, json_true());
    case TREE_INTEGER:
        return read_tree_integer(r);
    case TREE_REAL:
        return read_tree_real(r);
    case TREE_STRING:
        return read_tree_string(r);
    case TREE_AGAIN:
        return read_tree_again(r);
    case TREE_ARRAY:
        return read_tree_array(r);
    case TREE_OBJECT:
        return read_tree_object(r);
    case TREE_KEEP:
        return keep_tree_value(r);
    case TREE_SAME:
        return read_tree_same(r);
    }
    return CH_ERR_MALFORMED;
}

enum ch_status tree_bytes_read(const void *bytes, size_t size, json_t **out)
{
    struct tree_reader r = { .input = cursor_over(bytes, size) };
    enum ch_status status = CH_OK;
    while (status == CH_OK && cursor_left(&r.input) > 0)
        status = read_tree_value(&r);
    if (status == CH_OK && r.count != 1)
        status = r.count == 0 ? CH_ERR_TRUNCATED : CH_ERR_MALFORMED;
    if (status == CH_OK)
        *out = json_incref(r.stack[0].value);
    for (size_t i = 0; i < r.count; i++)
        json_decref(r.stack[i].value);
    for (size_t i = 0; i < r.string_count; i++)
        json_decref(r.strings[i]);
    for (size_t i = 0; i < r.kept_count; i++)
        json_decref(r.kept[i].value);
    free(r.stack);
    free(r.strings);
    free(r.kept);
    return status;
}
