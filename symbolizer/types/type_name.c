// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_name.h"

#include <string.h>

enum {
    NAME_BYTES_MAX = 1 << 14,
    ARGUMENT_DEPTH_MAX = 16, // nesting of functions as arguments of functions
};

// binding is how strongly a part of a declaration binds, weakest first. Parts are
// written in this order, with parentheses if types are nested in another one.
enum binding { BASE, POINTER, ARRAY, FUNCTION, BINDING_COUNT };

struct node {
    const struct type *type;
    enum binding binding;
    bool opens;  // it has a parenthesis before it
    bool closes; // and one after it
};

// A declaration is a parsed type, in the order in which its parts are written.
struct declaration {
    struct node nodes[TYPE_CHAIN_MAX];
    int count;
    int at;            // the next node to be written
    uint32_t argument; // its next argument, once it was begun
    bool in_arguments;
    enum type_kind before; // kind of the last node written
};

static bool is_qualifier(enum type_kind kind)
{
    return kind == TYPE_CONST || kind == TYPE_VOLATILE || kind == TYPE_RESTRICT;
}

// ends_chain returns true if what type refers to is not part of its name.
static bool ends_chain(const struct type *type)
{
    switch (type->kind) {
    case TYPE_POINTER:
    case TYPE_ARRAY:
    case TYPE_FUNCTION:
    case TYPE_SLICE:
        return false;
    case TYPE_TYPEDEF:
        return type->name[0] != 0;
    default:
        return !is_qualifier(type->kind);
    }
}

// insert_node inserts node after the others of its binding, or before them.
static void insert_node(struct declaration *d, const struct node *node, bool before)
{
    int at = 0;
    while (at < d->count && (d->nodes[at].binding < node->binding ||
                             (!before && d->nodes[at].binding == node->binding)))
        at++;
    memmove(&d->nodes[at + 1], &d->nodes[at],
            (size_t)(d->count - at) * sizeof(d->nodes[0]));
    d->nodes[at] = *node;
    d->count++;
}

static enum binding binding_of(enum type_kind kind)
{
    switch (kind) {
    case TYPE_POINTER:
        return POINTER;
    case TYPE_ARRAY:
        return ARRAY;
    case TYPE_FUNCTION:
        return FUNCTION;
    default:
        return BASE;
    }
}

// set_parentheses marks where parentheses belong: around pointers, arrays or both, if
// they nest the other way round than they bind. order gives the order in which the
// bindings were met.
static void set_parentheses(struct declaration *d, const int order[BINDING_COUNT])
{
    bool pointers = order[POINTER] > POINTER;
    bool arrays = order[ARRAY] > ARRAY;
    enum binding opens = pointers ? POINTER : ARRAY;
    enum binding closes = arrays ? ARRAY : POINTER;
    if (!pointers && !arrays)
        return;
    for (int i = d->count; i > 0; i--)
        if (d->nodes[i - 1].binding == closes) {
            d->nodes[i - 1].closes = true;
            break;
        }
    for (int i = 0; i < d->count; i++)
        if (d->nodes[i].binding == opens) {
            d->nodes[i].opens = true;
            break;
        }
}

// type_name_take_apart follows a type down to its base and then builds the declaration
// upwards.
static enum ch_status type_name_take_apart(const struct type_table *table,
                                           uint32_t index, struct declaration *d)
{
    const struct type *chain[TYPE_CHAIN_MAX];
    int count = 0;
    do {
        if (count == TYPE_CHAIN_MAX)
            return CH_ERR_MALFORMED;
        chain[count] = &table->types[index];
        index = chain[count]->target;
    } while (!ends_chain(chain[count++]));

    int order[BINDING_COUNT] = { -1, -1, -1, -1 };
    int next = 0;
    enum binding qualified = BASE;
    // Of the nodes, only those are touched that there are.
    d->count = 0;
    d->at = 0;
    d->argument = 0;
    d->in_arguments = false;
    d->before = TYPE_POINTER;
    for (int i = count - 1; i >= 0; i--) {
        const struct type *type = chain[i];
        if (type->kind == TYPE_SLICE ||
            (type->kind == TYPE_TYPEDEF && type->name[0] == 0))
            continue;
        bool qualifier = is_qualifier(type->kind);
        struct node node = { .type = type, .binding = binding_of(type->kind) };
        if (qualifier)
            node.binding = qualified;
        if (order[node.binding] < 0)
            order[node.binding] = next++;
        if (node.binding > qualified && node.binding < ARRAY)
            qualified = node.binding;
        insert_node(d, &node, qualifier && node.binding == BASE);
    }
    set_parentheses(d, order);
    return CH_OK;
}

static const char *tag_word(const struct type *type)
{
    switch (type->kind == TYPE_FORWARD ? type->tag : type->kind) {
    case TYPE_UNION:
        return "union";
    case TYPE_ENUM:
        return "enum";
    default:
        return "struct";
    }
}

// write_type_word writes a node without a function's arguments.
static enum ch_status write_type_word(const struct type *type, struct text *out)
{
    static const char *const pointers[] = { "*", "&", "&&" };
    switch (type->kind) {
    case TYPE_POINTER:
        text_append_string(out, pointers[type->reference]);
        return CH_OK;
    case TYPE_ARRAY:
        text_appendf(out, "[%u]", type->count);
        return CH_OK;
    case TYPE_FUNCTION:
        text_append_string(out, "(*) (");
        return CH_OK;
    case TYPE_STRUCT:
    case TYPE_UNION:
    case TYPE_ENUM:
    case TYPE_FORWARD:
        text_append_string(out, tag_word(type));
        text_append_string(out, " ");
        text_append_string(out, type->name);
        return CH_OK;
    case TYPE_CONST:
    case TYPE_VOLATILE:
    case TYPE_RESTRICT:
        text_append_string(out, type_kind_name(type->kind));
        return CH_OK;
    case TYPE_UNKNOWN:
        text_appendf(out, "(nonrepresentable type%s%s)", type->name[0] ? " " : "",
                     type->name);
        return CH_OK;
    default:
        text_append_string(out, type->name);
        return type->name[0] != 0 ? CH_OK : CH_ERR_MALFORMED;
    }
}

// begin_node writes the current node, except for a function's arguments.
static enum ch_status begin_node(struct declaration *d, struct text *out)
{
    const struct node *node = &d->nodes[d->at];
    if (d->before != TYPE_POINTER && d->before != TYPE_ARRAY)
        text_append_string(out, " ");
    if (node->opens)
        text_append_string(out, "(");
    d->before = node->type->kind;
    d->in_arguments = node->type->kind == TYPE_FUNCTION;
    d->argument = 0;
    return write_type_word(node->type, out);
}

// end_node passes over the current node.
static void end_node(struct declaration *d, struct text *out)
{
    const struct node *node = &d->nodes[d->at++];
    if (d->in_arguments)
        text_append_string(out, node->type->variadic ? "...)" : ")");
    d->in_arguments = false;
    if (node->closes)
        text_append_string(out, ")");
}

// next_argument gives the type of the next argument of the current function, or NULL,
// after writing the comma before it.
static const struct type_part *next_argument(const struct type_table *table,
                                             struct declaration *d, struct text *out)
{
    const struct type *function = d->nodes[d->at].type;
    bool more = d->in_arguments && d->argument < function->part_count;
    bool dots = d->in_arguments && function->variadic && !more;
    if (d->argument > 0 && (more || dots))
        text_append_string(out, ", ");
    return more ? &table->parts[function->first_part + d->argument++] : NULL;
}

enum ch_status type_name(const struct type_table *table, uint32_t index,
                         struct text *out)
{
    struct declaration stack[ARGUMENT_DEPTH_MAX];
    size_t before = out->size;
    int depth = 1;
    enum ch_status status = type_name_take_apart(table, index, &stack[0]);
    while (status == CH_OK && depth > 0) {
        struct declaration *d = &stack[depth - 1];
        if (out->size - before > NAME_BYTES_MAX)
            return CH_ERR_LIMIT;
        if (d->at == d->count) {
            depth--;
            continue;
        }
        if (!d->in_arguments)
            status = begin_node(d, out);
        const struct type_part *argument = next_argument(table, d, out);
        if (argument == NULL)
            end_node(d, out);
        else if (depth == ARGUMENT_DEPTH_MAX)
            status = CH_ERR_LIMIT;
        else
            status = type_name_take_apart(table, argument->type, &stack[depth++]);
    }
    if (status != CH_OK)
        return status;
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
