// SPDX-License-Identifier: Apache-2.0
#include "cli/types_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/json/json_writer.h"
#include "symbolizer/types/type_members.h"
#include "symbolizer/types/type_name.h"

static bool has_members(const struct type *type)
{
    return type->kind == TYPE_STRUCT || type->kind == TYPE_UNION;
}

static void print_type_name(struct json_writer *w, const struct type_table *table,
                            uint32_t index)
{
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    if (type_name(table, index, &name) == CH_OK && name.bytes != NULL)
        json_write_bytes(w, name.bytes, name.size);
    else
        json_write_string(w, NULL);
}

static void print_members(struct json_writer *w, const struct type_table *table,
                          const struct type *type)
{
    struct type_members members;
    struct type_member visit;
    type_members_init(&members, table, type);
    json_write_key(w, "members");
    json_write_array(w);
    for (bool more = true; more;) {
        more = type_members_next(&members, &visit);
        for (int i = 0; i < visit.closes; i++) {
            json_write_end(w, ']');
            json_write_end(w, '}');
        }
        if (!more)
            break;
        json_write_object(w);
        json_write_key(w, "name");
        json_write_string(w, visit.part->name);
        json_write_key(w, "type");
        print_type_name(w, table, visit.part->type);
        json_write_key(w, "offset_bits");
        json_write_uint(w, visit.offset_bits);
        json_write_key(w, "size_bits");
        json_write_uint(w, type_size_bits(table, visit.part->type));
        if (visit.opens) {
            json_write_key(w, "members");
            json_write_array(w);
        } else {
            json_write_end(w, '}');
        }
    }
    json_write_end(w, ']');
}

static void write_enum_values(struct json_writer *w, const struct type_table *table,
                              const struct type *type)
{
    json_write_key(w, "values");
    json_write_array(w);
    for (uint32_t i = 0; i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        json_write_object(w);
        json_write_key(w, "name");
        json_write_string(w, part->name);
        json_write_key(w, "value");
        json_write_int(w, part->value);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static void write_signature(struct json_writer *w, const struct type_table *table,
                            const struct type *type)
{
    json_write_key(w, "result");
    print_type_name(w, table, type->target);
    json_write_key(w, "arguments");
    json_write_array(w);
    for (uint32_t i = 0; i < type->part_count; i++)
        print_type_name(w, table, table->parts[type->first_part + i].type);
    json_write_end(w, ']');
    json_write_key(w, "variadic");
    json_write_bool(w, type->variadic);
}

// write_rest writes what a kind of type has in addition to its name and size.
static void write_rest(struct json_writer *w, const struct type_table *table,
                       const struct type *type)
{
    switch (type->kind) {
    case TYPE_STRUCT:
    case TYPE_UNION:
        print_members(w, table, type);
        return;
    case TYPE_ENUM:
        write_enum_values(w, table, type);
        return;
    case TYPE_FUNCTION:
        write_signature(w, table, type);
        return;
    case TYPE_ARRAY:
        json_write_key(w, "count");
        json_write_uint(w, type->count);
        json_write_key(w, "type");
        print_type_name(w, table, type->target);
        return;
    case TYPE_POINTER:
    case TYPE_TYPEDEF:
    case TYPE_CONST:
    case TYPE_VOLATILE:
    case TYPE_RESTRICT:
        json_write_key(w, "type");
        print_type_name(w, table, type->target);
        return;
    default:
        return;
    }
}

static void write_unit(struct json_writer *w, const char *unit)
{
    if (unit == NULL)
        return;
    json_write_key(w, "unit");
    json_write_string(w, unit);
}

// append_type_entry appends what w wrote to out.
static void append_type_entry(struct json_writer *w, struct text *out)
{
    if (json_writer_finish(w) == CH_OK)
        text_append(out, w->text.bytes, w->text.size);
    json_writer_deinit(w);
}

void types_print_json(const struct type_table *table, uint32_t index, struct text *out)
{
    const struct type *type = &table->types[index];
    struct json_writer w;
    uint64_t size;
    json_writer_init(&w, -1);
    json_write_object(&w);
    json_write_key(&w, "name");
    print_type_name(&w, table, index);
    json_write_key(&w, "kind");
    json_write_string(&w, type_kind_name(type->kind));
    if (type_size(table, index, &size) == CH_OK) {
        json_write_key(&w, "size");
        json_write_uint(&w, size);
    }
    write_rest(&w, table, type);
    write_unit(&w, type->unit);
    json_write_end(&w, '}');
    append_type_entry(&w, out);
}

void types_print_symbol_json(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out)
{
    const struct type *type = &table->types[symbol->type];
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_object(&w);
    json_write_key(&w, "name");
    json_write_string(&w, symbol->name);
    if (type->kind == TYPE_FUNCTION) {
        write_signature(&w, table, type);
    } else {
        json_write_key(&w, "type");
        print_type_name(&w, table, symbol->type);
    }
    write_unit(&w, symbol->unit);
    json_write_end(&w, '}');
    append_type_entry(&w, out);
}

// append_name appends a type's name. Names come from files of strangers: control
// characters become question marks.
static void append_name(const struct type_table *table, uint32_t index,
                        struct text *out)
{
    size_t before = out->size;
    if (type_name(table, index, out) != CH_OK)
        text_append_string(out, "?");
    for (size_t i = before; i < out->size; i++)
        if ((uint8_t)out->bytes[i] < ' ' || out->bytes[i] == 0x7f)
            out->bytes[i] = '?';
}

static void append_word(const char *word, struct text *out)
{
    size_t before = out->size;
    text_append_string(out, word);
    for (size_t i = before; i < out->size; i++)
        if ((uint8_t)out->bytes[i] < ' ' || out->bytes[i] == 0x7f)
            out->bytes[i] = '?';
}

static void append_members(const struct type_table *table, const struct type *type,
                           struct text *out)
{
    struct type_members members;
    struct type_member visit;
    type_members_init(&members, table, type);
    while (type_members_next(&members, &visit)) {
        const struct type_part *member = visit.part;
        bool bits = table->types[type_strip(table, member->type)].kind == TYPE_SLICE;
        text_appendf(out, "  %6" PRIu64, visit.offset_bits / 8);
        if (bits)
            text_appendf(out, ".%" PRIu64, visit.offset_bits % 8);
        text_appendf(out, "%*s", (bits ? 2 : 4) + visit.depth * 4, "");
        append_name(table, member->type, out);
        text_append_string(out, "  ");
        append_word(member->name, out);
        if (bits)
            text_appendf(out, " : %" PRIu64, type_size_bits(table, member->type));
        text_append_string(out, "\n");
    }
}

void types_print_text(const struct type_table *table, uint32_t index, struct text *out)
{
    const struct type *type = &table->types[index];
    uint64_t size;
    if (!has_members(type) && type->kind != TYPE_ENUM && type->kind != TYPE_TYPEDEF &&
        type->kind != TYPE_FORWARD)
        return;
    if (type->kind == TYPE_TYPEDEF)
        text_append_string(out, "typedef ");
    append_name(table, index, out);
    if (type->kind == TYPE_TYPEDEF) {
        text_append_string(out, " = ");
        append_name(table, type->target, out);
    }
    if (type_size(table, index, &size) == CH_OK)
        text_appendf(out, ", %" PRIu64 " bytes", size);
    if (type->kind == TYPE_FORWARD)
        text_append_string(out, ", declared alone");
    if (type->unit != NULL) {
        text_append_string(out, ", of ");
        append_word(type->unit, out);
    }
    text_append_string(out, "\n");
    if (has_members(type))
        append_members(table, type, out);
    for (uint32_t i = 0; type->kind == TYPE_ENUM && i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        text_append_string(out, "  ");
        append_word(part->name, out);
        text_appendf(out, " = %" PRId64 "\n", part->value);
    }
}

void types_print_kind(const struct type_table *table, uint32_t index, struct text *out)
{
    uint64_t size;
    append_name(table, index, out);
    if (type_size(table, index, &size) == CH_OK)
        text_appendf(out, ", %" PRIu64 " bytes", size);
    text_appendf(out, ", %s\n", type_kind_name(table->types[index].kind));
}

void types_print_symbol_text(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out)
{
    const struct type *type = &table->types[symbol->type];
    bool is_function = type->kind == TYPE_FUNCTION;
    append_name(table, is_function ? type->target : symbol->type, out);
    text_append_string(out, " ");
    append_word(symbol->name, out);
    if (is_function) {
        text_append_string(out, "(");
        for (uint32_t i = 0; i < type->part_count; i++) {
            text_append_string(out, i != 0 ? ", " : "");
            append_name(table, table->parts[type->first_part + i].type, out);
        }
        text_append_string(out, !type->variadic         ? ")"
                                : type->part_count != 0 ? ", ...)"
                                                        : "...)");
    }
    text_append_string(out, "\n");
}
