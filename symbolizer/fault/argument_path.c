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
    uint64_t bytes;  // that are named
    bool leads;      // one of the members that have the bytes is a pointer
    const char *dot;
    struct text *out;
};

static bool path_is_number(enum type_kind kind)
{
    return kind == TYPE_INTEGER || kind == TYPE_FLOAT || kind == TYPE_ENUM;
}

// path_enter_member goes to the member that has the bytes. Of a union that is the only
// pointer, where the others are numbers. False: none has a name, or several have them.
static bool path_enter_member(struct path *path)
{
    const struct type *type = &path->table->types[path->type];
    struct type_members members;
    struct type_member member;
    const struct type_part *found = NULL;
    uint64_t begin = 0;
    size_t numbers = 0;
    size_t others = 0;
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
            path->offset < at || path->offset - at >= size ||
            size - (path->offset - at) < path->bytes)
            continue;
        enum type_kind kind =
            path->table->types[type_strip(path->table, member.part->type)].kind;
        bool number = path_is_number(kind);
        path->leads = path->leads || kind == TYPE_POINTER;
        numbers += number;
        others += !number;
        if (found != NULL && number)
            continue;
        found = member.part;
        begin = at;
    }
    if (others > 1 || (numbers + others != 1 && !(others == 1 && path->leads)))
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
                         .bytes = part->bytes,
                         .dot = first,
                         .out = out };
    for (int i = 0; i < PARTS_MAX; i++) {
        uint64_t size;
        enum type_kind kind = table->types[path.type].kind;
        if (kind == TYPE_STRUCT || kind == TYPE_UNION) {
            path.leads = false;
            part->in_union = part->in_union || kind == TYPE_UNION;
            if (path_enter_member(&path))
                continue;
            // Which of several pointers a union has is not known, but what they are in.
            part->type = path.type;
            return kind == TYPE_UNION && i > 0 && path.leads && path.offset == 0 &&
                   type_size(table, path.type, &size) == CH_OK && size == part->bytes;
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

// written_before drops what gcc has before the names of what a lambda has captured or a
// coroutine keeps.
static void written_before(struct text *expression)
{
    static const char *const before[] = { "__closure->__", "frame_ptr->" };
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t size = strlen(before[i]);
        if (expression->size <= size ||
            memcmp(expression->bytes, before[i], size) != 0 ||
            expression->bytes[size] == '_')
            continue;
        expression->size -= size;
        memmove(expression->bytes, expression->bytes + size, expression->size + 1);
    }
}

// written_member puts call in the place of the first member of that name; where call is
// empty or an element follows, the object stands for what it leads to.
static void written_member(struct text *expression, const char *member,
                           const char *call)
{
    size_t size = strlen(member);
    char *at = strstr(expression->bytes, member);
    if (at == NULL || at == expression->bytes ||
        (at[size] != 0 && at[size] != '[' && at[size] != '-'))
        return;
    const char *internal = strstr(expression->bytes, "_M_");
    if (internal != NULL && internal < at)
        return; // the source has no name for what it is in
    bool dot = at[-1] == '.';
    bool whole = at[size] == '[' || call[0] == 0;
    if (!dot && (at[-1] != '>' || (whole && at[size] != 0)))
        return;
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    size_t before = (size_t)(at - expression->bytes);
    if (whole)
        before -= dot ? 1 : 2;
    text_appendf(&written, "%s%.*s%s%s", whole && !dot ? "*" : "", (int)before,
                 expression->bytes, whole ? "" : call, at + size);
    if (!text_ok(&written))
        return;
    struct text unused = *expression;
    *expression = written;
    written = unused;
}

void argument_path_as_written(struct text *expression)
{
    // The members in which libstdc++ and libc++ keep the one pointer of an object, and
    // the call that gives it; that of a pointer to a member function.
    static const struct {
        const char *member;
        const char *call;
    } members[] = {
        { "_M_t._M_t._M_head_impl", "" },
        { "__ptr_.__value_", "" },
        { "_M_ptr", "" },
        { "__ptr_", "" },
        { "_M_current", "" },
        { "_M_cur", "" },
        { "_M_node", "" },
        { "__pfn", "" },
        { "__i_", "" },
        { "_M_impl._M_start", "data()" },
        { "__begin_", "data()" },
        { "_M_dataplus._M_p", "data()" },
        { "data()", "data()" },
    };
    if (!text_ok(expression) || expression->size == 0)
        return;
    written_before(expression);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        written_member(expression, members[i].member, members[i].call);
}
