// SPDX-License-Identifier: Apache-2.0
//
// Types that have what the rows of the layout tables need: for each row a structure
// with the members that its paths name. Every member is a pointer to a structure that
// has each member that readers look for where a pointer leads.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/values/layout_table.h"

enum {
    BUILDER_NODES = 64,
    BUILDER_NAME = 32,
    BUILDER_ROWS = 256,
    BUILDER_ARGUMENT = 9,
    BUILDER_ELEMENT = 472 // bytes of what members point to
};

// A builder_node is a member, or the object itself.
struct builder_node {
    char name[BUILDER_NAME];
    int parent; // -1: it is the object
    uint32_t type;
    uint64_t size;
};

// A layout_builder is the types of the rows; zeroed before layout_builder_add.
struct layout_builder {
    struct type_table table;
    uint32_t types[BUILDER_ROWS];
    size_t count;
    uint32_t number;
    uint32_t pointer;
    uint32_t older; // likewise, but to Qt 5's hash table, which has no spans
    uint32_t pair;
    char names[BUILDER_ROWS][BUILDER_NODES][BUILDER_NAME];
};

// builder_check ends a program that has no memory: fuzz targets are no cmocka tests.
static inline void builder_check(bool right)
{
    if (!right)
        abort();
}

static inline uint32_t builder_add(struct type_table *table, const struct type *type)
{
    uint32_t index = 0;
    builder_check(type_table_add(table, type, &index) == CH_OK);
    return index;
}

static inline void builder_add_part(struct type_table *table, const char *name,
                                    uint32_t type, uint64_t offset)
{
    const struct type_part part = { .name = name,
                                    .type = type,
                                    .offset_bits = offset * 8 };
    builder_check(type_table_add_part(table, &part) == CH_OK);
}

static inline void builder_arguments(struct layout_builder *builder, struct type *type)
{
    const struct type_part parts[] = {
        { .name = "", .type = builder->number, .value = BUILDER_ARGUMENT },
        { .name = "", .type = builder->pair, .value = BUILDER_ARGUMENT },
    };
    for (size_t i = 0; i < 2; i++)
        builder_check(type_table_add_part(&builder->table, &parts[i]) == CH_OK);
    type->argument_count = 2;
}

// builder_structure adds a structure with members of 8 bytes, or as long as their
// types.
static inline uint32_t builder_structure(struct type_table *table, const char *name,
                                         size_t count, const char *const *names,
                                         const uint32_t *types)
{
    struct type type = { .kind = TYPE_STRUCT,
                         .name = name,
                         .first_part = table->part_count,
                         .part_count = (uint32_t)count };
    for (size_t i = 0; i < count; i++) {
        uint64_t size = 0;
        builder_check(type_size(table, types[i], &size) == CH_OK);
        builder_add_part(table, names[i], types[i], type.size);
        type.size += size < 8 ? 8 : size;
    }
    return builder_add(table, &type);
}

// builder_begin adds what members point to. It has what readers look for there:
// numbers, the arrays and pointers of Go's maps and channels, Qt's headers, the states
// of futures.
static inline void builder_begin(struct layout_builder *builder)
{
    static const char *const names[] = {
        // numbers, or looked up for their places alone
        "size", "offset", "len", "parent", "strong", "value", "data", "_M_result",
        "kind", "ctrl", "vals", "begin", "end", "array", "header", "mostLeftNode",
        "buckets", "numBuckets", "m", "elements", "length", "tag", "storage",
        "__state_", "__value_", "__exception_",
        // pointers
        "_type", "elem", "overflow", "next", "entries",
        // arrays, structures
        "keys", "tophash", "slots", "groups", "_M_status",
        // a pointer again, the last: older lacks it
        "spans"
    };
    enum { COUNT = sizeof(names) / sizeof(names[0]), NUMBERS = 26, POINTERS = 31 };
    static const char *const inner[] = { "data", "lengthMask" };
    static const char *const future[] = { "_M_data" };
    static const char *const slot[] = { "key", "elem" };
    static const char *const node[] = { "key", "value" };
    struct type_table *table = &builder->table;
    uint32_t types[COUNT];
    builder_check(type_table_init(table) == CH_OK);
    builder->number = builder_add(table, &(struct type){ .kind = TYPE_INTEGER,
                                                         .name = "int",
                                                         .size = 4,
                                                         .encoding = TYPE_SIGNED });
    struct type pair = { .kind = TYPE_STRUCT,
                         .name = "pair<int, int>",
                         .size = 8,
                         .first_part = table->part_count,
                         .part_count = 2 };
    builder_add_part(table, "first", builder->number, 0);
    builder_add_part(table, "second", builder->number, 4);
    builder->pair = builder_add(table, &pair);
    builder->pointer = builder_add(
        table, &(struct type){ .kind = TYPE_POINTER, .name = "", .size = 8 });
    const uint32_t both[] = { builder->pointer, builder->number };
    for (size_t i = 0; i < COUNT; i++)
        types[i] = i < NUMBERS ? builder->number : builder->pointer;
    for (size_t i = POINTERS; i < COUNT - 1; i++) {
        const bool slots = strcmp(names[i], "slots") == 0;
        const struct type array = {
            .kind = TYPE_ARRAY,
            .name = "",
            .count = 8,
            .target = slots ? builder_structure(table, "slot", 2, slot, both)
                            : builder->number,
        };
        types[i] = strcmp(names[i], "groups") == 0
                       ? builder_structure(table, "groups", 2, inner, both)
                   : strcmp(names[i], "_M_status") == 0
                       ? builder_structure(table, "futex", 1, future, &builder->number)
                       : builder_add(table, &array);
    }
    const uint32_t numbers[] = { builder->number, builder->number };
    uint32_t argument = builder_structure(table, "node", 2, node, numbers);
    uint32_t element = builder_structure(table, "element", COUNT, names, types);
    builder_add_part(table, "", argument, 0);
    table->types[element].argument_count = 1;
    builder_check(table->types[element].size == BUILDER_ELEMENT);
    table->types[builder->pointer].target = element;
    builder->older = builder_add(
        table, &(struct type){ .kind = TYPE_POINTER,
                               .name = "",
                               .size = 8,
                               .target = builder_structure(table, "element", COUNT - 1,
                                                           names, types) });
}

// builder_child gives the node of a member, which is added where there is none.
static inline int builder_child(struct builder_node *nodes, int *count, int parent,
                                const char *name, size_t length)
{
    for (int i = 1; i < *count; i++)
        if (nodes[i].parent == parent && strncmp(nodes[i].name, name, length) == 0 &&
            nodes[i].name[length] == 0)
            return i;
    builder_check(*count < BUILDER_NODES);
    nodes[*count] = (struct builder_node){ .parent = parent };
    snprintf(nodes[*count].name, BUILDER_NAME, "%.*s", (int)length, name);
    return (*count)++;
}

// builder_add_path adds the nodes of a member that path leads to.
static inline void builder_add_path(struct builder_node *nodes, int *count,
                                    const char *path)
{
    for (int at = 0; *path != 0;) {
        size_t length = strcspn(path, ".");
        at = builder_child(nodes, count, at, path, length);
        path += length + (path[length] == '.');
    }
}

// layout_builder_add adds the type of a row. The tree of a Cord is looked up by its
// reader.
static inline void layout_builder_add(struct layout_builder *builder,
                                      const struct layout_row *row)
{
    struct builder_node nodes[BUILDER_NODES] = { { .parent = -1 } };
    int count = 1;
    if (builder->count == 0)
        builder_begin(builder);
    builder_check(builder->count < BUILDER_ROWS);
    if (row->paths[0] == NULL) { // of a library that hides its members
        const struct type hidden = { .kind = TYPE_FORWARD, .name = row->name };
        builder->types[builder->count++] = builder_add(&builder->table, &hidden);
        return;
    }
    for (size_t i = 0; i < LAYOUT_MEMBERS && row->paths[i] != NULL; i++)
        builder_add_path(nodes, &count, row->paths[i] + (row->paths[i][0] == '?'));
    if (strcmp(row->name, "Cord") == 0)
        builder_add_path(nodes, &count, "contents_.data_.as_tree_.rep");
    for (int i = count - 1; i >= 0; i--) { // members come after what they are in
        struct type type = { .kind = TYPE_STRUCT,
                             .name = i == 0 ? row->name : "inner<",
                             .first_part = builder->table.part_count };
        char(*names)[BUILDER_NAME] = builder->names[builder->count];
        for (int k = i + 1; k < count; k++) {
            if (nodes[k].parent != i)
                continue;
            memcpy(names[k], nodes[k].name, BUILDER_NAME);
            builder_add_part(&builder->table, names[k], nodes[k].type, type.size);
            type.size += nodes[k].size;
            type.part_count++;
        }
        nodes[i].type = builder->pointer;
        nodes[i].size = 8;
        if (type.part_count == 0)
            continue;
        builder_arguments(builder, &type);
        nodes[i].type = builder_add(&builder->table, &type);
        nodes[i].size = type.size;
    }
    builder->types[builder->count++] = nodes[0].type;
}

static inline void builder_add_table(struct layout_builder *builder,
                                     const struct layout_row *row)
{
    for (; row->name != NULL; row++)
        layout_builder_add(builder, row);
}

// layout_builder_add_all adds the types of all rows; those of Qt for both versions.
static inline void layout_builder_add_all(struct layout_builder *builder)
{
    for (size_t i = 0; layout_tables[i] != NULL; i++)
        builder_add_table(builder, layout_tables[i]);
    builder->pointer = builder->older;
    builder_add_table(builder, layout_qt);
}
