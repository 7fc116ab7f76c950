// SPDX-License-Identifier: Apache-2.0
#include "cli/types_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/debug/btf.h"
#include "formats/debug/ctf_file.h"
#include "report/json/json_writer.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/types/type_table.h"

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
        if (type->encoding & TYPE_UNSIGNED && part->value < 0)
            json_write_hex(w, (uint64_t)part->value);
        else
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
        text_appendf(out,
                     type->encoding & TYPE_UNSIGNED ? " = %" PRIu64 "\n"
                                                    : " = %" PRId64 "\n",
                     part->value);
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

// A header is what a dictionary of CTF, or a section of BTF, says of itself.
struct header {
    const char *format;
    const char *name;
    unsigned version;
    bool big_endian;
    bool compressed;
    uint64_t types; // their number, if dict is not NULL
    uint64_t type_bytes;
    uint64_t string_bytes;
    const char *parent;
    const char *unit;
    const struct ctf_dict *dict; // NULL: of BTF or version 4, which have no labels
};

static uint64_t header_bytes(const struct cursor *section)
{
    return (uint64_t)(section->end - section->begin);
}

static void write_header_labels(struct json_writer *w, const struct ctf_dict *dict)
{
    struct cursor labels = dict->labels;
    struct ctf_label label;
    json_write_key(w, "labels");
    json_write_array(w);
    while (ctf_next_label(dict, &labels, &label) == CH_OK) {
        json_write_object(w);
        json_write_key(w, "name");
        json_write_string(w, label.name);
        json_write_key(w, "last_type");
        json_write_uint(w, label.last_type);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static void write_header(struct json_writer *w, const struct header *header)
{
    json_write_object(w);
    json_write_key(w, "name");
    json_write_string(w, header->name);
    json_write_key(w, "version");
    json_write_uint(w, header->version);
    json_write_key(w, "byte_order");
    json_write_string(w, header->big_endian ? "big" : "little");
    json_write_key(w, "compressed");
    json_write_bool(w, header->compressed);
    json_write_key(w, "type_bytes");
    json_write_uint(w, header->type_bytes);
    json_write_key(w, "string_bytes");
    json_write_uint(w, header->string_bytes);
    json_write_key(w, "parent");
    json_write_string(w, header->parent);
    write_unit(w, header->unit[0] != 0 ? header->unit : NULL);
    if (header->dict != NULL) {
        json_write_key(w, "types");
        json_write_uint(w, header->types);
        write_header_labels(w, header->dict);
    }
    json_write_end(w, '}');
}

static void append_dict_header(const struct header *header, struct text *out)
{
    append_word(header->name, out);
    text_appendf(out, ": %s version %u, %s-endian%s, ", header->format, header->version,
                 header->big_endian ? "big" : "little",
                 header->compressed ? ", compressed" : "");
    if (header->dict != NULL)
        text_appendf(out, "%" PRIu64 " types in ", header->types);
    text_appendf(out, "%" PRIu64 " bytes, strings of %" PRIu64 " bytes",
                 header->type_bytes, header->string_bytes);
    if (header->parent[0] != 0) {
        text_append_string(out, ", parent ");
        append_word(header->parent, out);
    }
    if (header->unit[0] != 0) {
        text_append_string(out, ", of ");
        append_word(header->unit, out);
    }
    text_append_string(out, "\n");
    struct cursor labels =
        header->dict != NULL ? header->dict->labels : (struct cursor){ 0 };
    struct ctf_label label;
    while (header->dict != NULL &&
           ctf_next_label(header->dict, &labels, &label) == CH_OK) {
        text_append_string(out, "  label ");
        append_word(label.name, out);
        text_appendf(out, ": types up to %" PRIu32 "\n", label.last_type);
    }
}

// print_header appends a header to w if that is not NULL, and to out otherwise.
static void print_header(const struct header *header, struct json_writer *w,
                         struct text *out)
{
    if (w != NULL)
        write_header(w, header);
    else
        append_dict_header(header, out);
}

// print_btf_header prints the header of BTF, or of version 4 of CTF.
static void print_btf_header(const struct btf *btf, const char *name,
                             struct json_writer *w, struct text *out)
{
    const struct header header = { .format = btf->is_ctf ? "CTF" : "BTF",
                                   .name = name,
                                   .version = btf->is_ctf ? 4 : 1,
                                   .big_endian = btf->types.big_endian,
                                   .compressed = btf->is_compressed,
                                   .type_bytes = header_bytes(&btf->types),
                                   .string_bytes = header_bytes(&btf->strings),
                                   .parent = btf->base != NULL ? ".ctf" : "",
                                   .unit = btf->unit };
    print_header(&header, w, out);
}

// print_version_4 prints the headers of a file of CTF version 4; the first dictionary
// is the parent of those that have one.
static void print_version_4(const struct ctf_file *file, struct json_writer *w,
                            struct text *out)
{
    CH_CLEANUP(btf_deinit) struct btf parent = { .unit = NULL };
    struct ctf_member member;
    for (uint64_t i = 0; ctf_file_member(file, i, &member) == CH_OK; i++) {
        CH_CLEANUP(btf_deinit) struct btf child = { .unit = NULL };
        struct btf *btf = i == 0 ? &parent : &child;
        if (btf_init(btf, member.bytes, i == 0 ? NULL : &parent) == CH_OK)
            print_btf_header(btf, member.name, w, out);
    }
}

static void print_ctf_headers(const struct type_bytes *bytes, struct json_writer *w,
                              struct text *out)
{
    struct ctf_file file;
    struct ctf_outside all;
    struct ctf_outside dynamic;
    struct ctf_member member;
    if (ctf_file_init(&file, bytes->bytes, bytes->size) != CH_OK)
        return;
    if (ctf_file_is_version_4(&file)) {
        print_version_4(&file, w, out);
        return;
    }
    ctf_file_outside(&file, false, &all);
    ctf_file_outside(&file, true, &dynamic);
    for (uint64_t i = 0; ctf_file_member(&file, i, &member) == CH_OK; i++) {
        struct ctf_dict dict;
        if (ctf_dict_open(&dict, member.bytes, &all, &dynamic) == CH_OK) {
            const struct header header = {
                .format = "CTF",
                .name = member.name,
                .version = dict.version,
                .big_endian = dict.big_endian,
                .compressed = dict.is_compressed,
                .types = dict.type_count,
                .type_bytes = header_bytes(&dict.sections[CTF_TYPES]),
                .string_bytes = header_bytes(&dict.sections[CTF_STRINGS]),
                .parent = dict.parent,
                .unit = dict.unit,
                .dict = &dict,
            };
            print_header(&header, w, out);
        }
        ctf_dict_close(&dict);
    }
}

static void print_btf_section(const struct type_bytes *bytes, struct json_writer *w,
                              struct text *out)
{
    struct elf_view elf;
    struct elf_section section;
    CH_CLEANUP(btf_deinit) struct btf btf = { .unit = NULL };
    struct cursor c = cursor_over(bytes->bytes, bytes->size);
    if (elf_view_init(&elf, bytes->bytes, bytes->size) == CH_OK &&
        elf_view_find_section(&elf, ".BTF", &section, NULL) == CH_OK)
        c = elf_section_cursor(&elf, &section);
    if (btf_init(&btf, c, NULL) == CH_OK)
        print_btf_header(&btf, ".BTF", w, out);
}

static void print_headers(const struct type_bytes *file, enum type_source source,
                          struct json_writer *w, struct text *out)
{
    if (source == TYPE_FROM_CTF)
        print_ctf_headers(file, w, out);
    if (source == TYPE_FROM_BTF)
        print_btf_section(file, w, out);
}

void types_print_headers_json(const struct type_bytes *file, enum type_source source,
                              struct text *out)
{
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_array(&w);
    print_headers(file, source, &w, NULL);
    json_write_end(&w, ']');
    append_type_entry(&w, out);
}

void types_print_headers_text(const struct type_bytes *file, enum type_source source,
                              struct text *out)
{
    print_headers(file, source, NULL, out);
}
