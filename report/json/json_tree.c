// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_tree.h"

#include <stdlib.h>

#include "report/json/json_writer.h"

// level is an array or object that is being written.
struct level {
    json_t *of;
    size_t next;    // of an array
    void *iterator; // of an object; NULL: all its members are written
};

struct walk {
    struct json_writer writer;
    struct level *levels; // room for JSON_TREE_DEPTH_MAX
    size_t depth;
    enum ch_status status;
};

static void write_real(struct json_writer *w, const json_t *value)
{
    char digits[64];
    size_t size =
        json_dumpb(value, digits, sizeof(digits), JSON_ENCODE_ANY | JSON_COMPACT);
    json_write_raw(w, digits, size <= sizeof(digits) ? size : 0);
}

static void enter_tree_node(struct walk *walk, json_t *value)
{
    if (walk->depth == JSON_TREE_DEPTH_MAX) {
        walk->status = CH_ERR_LIMIT;
        return;
    }
    bool object = json_is_object(value);
    walk->levels[walk->depth++] =
        (struct level){ .of = value,
                        .iterator = object ? json_object_iter(value) : NULL };
    if (object)
        json_write_object(&walk->writer);
    else
        json_write_array(&walk->writer);
}

// write_json_value writes a scalar, or the beginning of an array or object.
static void write_json_value(struct walk *walk, json_t *value)
{
    struct json_writer *w = &walk->writer;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        enter_tree_node(walk, value);
        return;
    case JSON_STRING:
        json_write_bytes(w, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        json_write_int(w, json_integer_value(value));
        return;
    case JSON_REAL:
        write_real(w, value);
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        json_write_bool(w, json_is_true(value));
        return;
    case JSON_NULL:
        json_write_string(w, NULL);
        return;
    }
}

// write_next_value writes the next value of the innermost level, or that level's end.
static void write_next_value(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth - 1];
    if (level->iterator != NULL) {
        const char *key = json_object_iter_key(level->iterator);
        json_t *value = json_object_iter_value(level->iterator);
        level->iterator = json_object_iter_next(level->of, level->iterator);
        json_write_member(&walk->writer, key);
        write_json_value(walk, value);
        return;
    }
    if (json_is_array(level->of) && level->next < json_array_size(level->of)) {
        write_json_value(walk, json_array_get(level->of, level->next++));
        return;
    }
    json_write_end(&walk->writer, json_is_array(level->of) ? ']' : '}');
    walk->depth--;
}

enum ch_status json_tree_write(const json_t *value, struct text *out)
{
    // Of this much memory only the levels that a value has are touched.
    struct walk walk = { .levels = malloc(JSON_TREE_DEPTH_MAX * sizeof(*walk.levels)) };
    if (walk.levels == NULL)
        return CH_ERR_NO_MEMORY;
    json_writer_init(&walk.writer, -1);
    walk.writer.text = *out;
    write_json_value(&walk, (json_t *)(uintptr_t)value);
    while (walk.depth != 0 && walk.status == CH_OK && walk.writer.error == 0)
        write_next_value(&walk);
    enum ch_status written = json_writer_finish(&walk.writer);
    *out = walk.writer.text;
    walk.writer.text = (struct text){ 0 };
    json_writer_deinit(&walk.writer);
    free(walk.levels);
    return walk.status != CH_OK ? walk.status : written;
}

enum ch_status json_tree_print(const json_t *value, struct text *out)
{
    enum ch_status status = json_tree_write(value, out);
    if (status != CH_OK)
        return status;
    text_append_string(out, "\n");
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
