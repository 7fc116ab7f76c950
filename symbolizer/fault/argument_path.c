// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_path.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "symbolizer/types/type_table.h"

// PARTS_MAX is the number of members and elements of a path.
enum { PARTS_MAX = 8 };

// path is a way into an object, as far as it was found.
struct path {
    const struct type_table *table;
    uint32_t type;   // of the part that was reached
    uint64_t offset; // in that part
    const char *dot;
    struct text *out;
};

// path_enter_member goes to the member that has the offset. False: none has a name, or
// several have it.
static bool path_enter_member(struct path *path)
{
    const struct type *type = &path->table->types[path->type];
    struct type_members members;
    struct type_member member;
    const struct type_part *found = NULL;
    uint64_t begin = 0;
    int named = INT_MAX; // depth of a named member whose own members follow
    type_members_init(&members, path->table, type);
    while (type_members_next(&members, &member)) {
        uint64_t at = member.offset_bits / 8;
        uint64_t size;
        if (member.depth > named)
            continue;
        bool through = member.part->name[0] == 0 || member.part->base != TYPE_BASE_NONE;
        named = member.opens && !through ? member.depth : INT_MAX;
        if (through || member.offset_bits % 8 != 0 ||
            type_size(path->table, member.part->type, &size) != CH_OK ||
            path->offset < at || path->offset - at >= size)
            continue;
        if (found != NULL)
            return false;
        found = member.part;
        begin = at;
    }
    if (found == NULL)
        return false;
    text_appendf(path->out, "%s%s", path->dot, found->name);
    path->offset -= begin;
    path->type = type_strip(path->table, found->type);
    path->dot = ".";
    return true;
}

static bool path_enter_element(struct path *path)
{
    const struct type *type = &path->table->types[path->type];
    uint64_t size;
    // Nested array types are in the reverse order of C's (type_table.h).
    if (type->flat ||
        path->table->types[type_strip(path->table, type->target)].kind == TYPE_ARRAY ||
        type_size(path->table, type->target, &size) != CH_OK || size == 0)
        return false;
    text_appendf(path->out, "[%" PRIu64 "]", path->offset / size);
    path->offset %= size;
    path->type = type_strip(path->table, type->target);
    path->dot = ".";
    return true;
}

bool argument_path_append(const struct type_table *table, struct argument_part *part,
                          const char *first, struct text *out)
{
    struct path path = { .table = table,
                         .type = type_strip(table, part->type),
                         .offset = part->offset,
                         .dot = first,
                         .out = out };
    for (int i = 0; i < PARTS_MAX; i++) {
        uint64_t size;
        enum type_kind kind = table->types[path.type].kind;
        if (kind == TYPE_STRUCT || kind == TYPE_UNION) {
            if (!path_enter_member(&path))
                return false;
        } else if (kind == TYPE_ARRAY) {
            if (!path_enter_element(&path))
                return false;
        } else {
            part->type = path.type;
            return type_size(table, path.type, &size) == CH_OK && path.offset == 0 &&
                   size == part->bytes;
        }
    }
    return false;
}

void argument_path_as_written(struct text *expression)
{
    static const char *const before[] = { "__closure->__", "frame_ptr->" };
    for (size_t i = 0; text_ok(expression) && i < sizeof(before) / sizeof(before[0]);
         i++) {
        size_t size = strlen(before[i]);
        if (expression->size <= size ||
            memcmp(expression->bytes, before[i], size) != 0 ||
            expression->bytes[size] == '_')
            continue;
        expression->size -= size;
        memmove(expression->bytes, expression->bytes + size, expression->size + 1);
    }
}
