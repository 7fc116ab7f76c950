// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/die_scan.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/debug/dwarf_abbrev.h"
#include "symbolizer/files/debug_elf.h"

enum { ABBREV_CODE_MAX = 1 << 20, ABBREV_FIELDS_MAX = 4096 };

// field_role is what an attribute is used for.
enum field_role { ROLE_NONE, ROLE_LOW, ROLE_HIGH, ROLE_RANGES, ROLE_SIBLING };

struct die_field {
    uint16_t form;
    uint8_t kind;
    uint8_t role;
    uint32_t size;
};

// abbrev_use is what to do with entries of an abbreviation.
enum abbrev_use {
    ABBREV_ABSENT,
    ABBREV_PASS,         // skip its attributes
    ABBREV_CODE,         // a function or an inlined call
    ABBREV_SKIP_SUBTREE, // nothing below can have code: go to the sibling, if
                         // the entry gives it
};

struct die_abbrev {
    uint8_t use;
    bool children;
    bool inlined;
    bool scope;
    uint32_t first_field;
    uint32_t field_count;
};

// form_refers_out returns true if a value of that form may be outside of the unit and
// of the sections that units share.
static bool form_refers_out(unsigned form)
{
    switch (form) {
    case DW_FORM_ref_addr:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_indirect:
        return true;
    default:
        return false;
    }
}

// attribute_role gives the role of an attribute in entries of abbrev: none if no scan
// looks at it there.
static enum field_role attribute_role(unsigned name, const struct die_abbrev *abbrev)
{
    if (name != DW_AT_sibling && abbrev->use == ABBREV_PASS)
        return ROLE_NONE;
    switch (name) {
    case DW_AT_low_pc:
        return ROLE_LOW;
    case DW_AT_high_pc:
        return ROLE_HIGH;
    case DW_AT_ranges:
        return ROLE_RANGES;
    case DW_AT_sibling:
        // A scope is gone through, but for a union when its code is looked for.
        return abbrev->children && (!abbrev->scope || abbrev->use != ABBREV_PASS)
                   ? ROLE_SIBLING
                   : ROLE_NONE;
    default:
        return ROLE_NONE;
    }
}

static enum abbrev_use tag_use(unsigned tag, enum die_scan_reach reach)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
        return ABBREV_CODE;
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_union_type:
        return ABBREV_SKIP_SUBTREE;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        return reach == DIE_SCAN_OUTER ? ABBREV_SKIP_SUBTREE : ABBREV_PASS;
    default:
        return ABBREV_PASS;
    }
}

static bool tag_is_scope(unsigned tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static struct dwarf_sizes scan_sizes(const struct die_scan *scan)
{
    return (struct dwarf_sizes){ .address = scan->address_size,
                                 .offset = scan->offset_size,
                                 .version = scan->version };
}

static struct die_field sized_field(unsigned form, struct dwarf_sizes sizes)
{
    struct dwarf_field field = dwarf_field_of(form, sizes);
    return (struct die_field){ .form = (uint16_t)form,
                               .kind = (uint8_t)field.kind,
                               .size = field.size };
}

// add_field appends one attribute; consecutive fixed sizes are merged into one skip.
static enum ch_status add_field(struct die_scan *scan, struct die_abbrev *abbrev,
                                unsigned name, unsigned form)
{
    struct die_field field = sized_field(form, scan_sizes(scan));
    if (field.kind == DWARF_FIELD_UNKNOWN)
        return CH_ERR_UNSUPPORTED;
    scan->refers_out = scan->refers_out || form_refers_out(form);
    field.role = (uint8_t)attribute_role(name, abbrev);
    if (abbrev->field_count != 0 && field.kind == DWARF_FIELD_FIXED &&
        field.role == ROLE_NONE) {
        struct die_field *last = &scan->fields[scan->field_count - 1];
        if (last->kind == DWARF_FIELD_FIXED && last->role == ROLE_NONE) {
            last->size += field.size;
            return CH_OK;
        }
    }
    if (!array_reserve(&scan->fields, &scan->field_capacity, scan->field_count,
                       sizeof(field)))
        return CH_ERR_NO_MEMORY;
    scan->fields[scan->field_count++] = field;
    abbrev->field_count++;
    return CH_OK;
}

// read_fields reads the attributes of an abbreviation.
static enum ch_status read_fields(struct die_scan *scan, struct cursor *table,
                                  struct die_abbrev *abbrev)
{
    for (size_t i = 0; i < ABBREV_FIELDS_MAX; i++) {
        struct dwarf_attribute read;
        enum ch_status status = dwarf_abbrev_attribute(table, &read);
        if (status == CH_END)
            return CH_OK;
        if (status != CH_OK || read.name > UINT16_MAX || read.form > UINT16_MAX)
            return CH_ERR_MALFORMED;
        status = add_field(scan, abbrev, (unsigned)read.name, (unsigned)read.form);
        if (status != CH_OK)
            return status;
    }
    return CH_ERR_LIMIT;
}

// read_abbrev takes an abbreviation. Of those with one code, the first one is used, as
// libdw does.
static enum ch_status read_abbrev(struct die_scan *scan, struct cursor *table,
                                  const struct dwarf_abbrev *read)
{
    uint64_t code = read->code;
    if (code > ABBREV_CODE_MAX)
        return CH_ERR_UNSUPPORTED;
    while (scan->abbrev_count <= code) {
        if (!array_reserve(&scan->abbrevs, &scan->abbrev_capacity, scan->abbrev_count,
                           sizeof(scan->abbrevs[0])))
            return CH_ERR_NO_MEMORY;
        scan->abbrevs[scan->abbrev_count++] = (struct die_abbrev){ 0 };
    }
    unsigned tag = read->tag <= UINT16_MAX ? (unsigned)read->tag : 0;
    struct die_abbrev abbrev = {
        .use = (uint8_t)tag_use(tag, scan->reach),
        .children = read->children,
        .inlined = tag == DW_TAG_inlined_subroutine,
        .scope = tag_is_scope(tag),
        .first_field = (uint32_t)scan->field_count,
    };
    enum ch_status status = read_fields(scan, table, &abbrev);
    if (status == CH_OK && scan->abbrevs[code].use == ABBREV_ABSENT)
        scan->abbrevs[code] = abbrev;
    return status;
}

static enum ch_status read_abbrevs(struct die_scan *scan, struct cursor table)
{
    for (;;) {
        struct dwarf_abbrev read;
        enum ch_status status = dwarf_abbrev_next(&table, &read);
        if (status == CH_END)
            return CH_OK;
        if (status != CH_OK)
            return CH_ERR_MALFORMED;
        status = read_abbrev(scan, &table, &read);
        if (status != CH_OK)
            return status;
    }
}

// die_find_entries sets the cursor to the unit's entries, and another one to its
// abbreviations.
static enum ch_status die_find_entries(struct die_scan *scan, Dwarf_Die *unit,
                                       struct cursor *out_abbrevs)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
    Dwarf_Off offset = dwarf_dieoffset(unit);
    Dwarf_Off next;
    Dwarf_Off abbrevs;
    Dwarf_Off start = offset - dwarf_cuoffset(unit);
    if (dwarf_next_unit(dwarf, start, &next, NULL, NULL, &abbrevs, NULL, NULL, NULL,
                        NULL) != 0)
        return CH_ERR_MALFORMED;
    const uint8_t *begin = unit->addr;
    const uint8_t *end = dwarf_section_end(dwarf, begin);
    if (end == NULL || next <= offset)
        return CH_ERR_MALFORMED;
    uint64_t size = next - offset;
    if (size > (uint64_t)(end - begin))
        size = (uint64_t)(end - begin);
    scan->input = cursor_over(begin, (size_t)size);
    scan->base = offset;
    scan->header_size = offset - start;
    *out_abbrevs = dwarf_section(dwarf, "debug_abbrev");
    cursor_seek(out_abbrevs, (size_t)abbrevs);
    return CH_OK;
}

enum ch_status die_scan_init(struct die_scan *scan, Dwarf_Die *unit,
                             enum die_scan_reach reach)
{
    *scan = (struct die_scan){ .reach = reach };
    if (dwarf_cu_info(unit->cu, &scan->version, NULL, NULL, NULL, NULL,
                      &scan->address_size, &scan->offset_size) != 0)
        return CH_ERR_MALFORMED;
    struct cursor abbrevs;
    enum ch_status status = die_find_entries(scan, unit, &abbrevs);
    if (status == CH_OK)
        status = read_abbrevs(scan, abbrevs);
    if (status != CH_OK)
        die_scan_deinit(scan);
    return status;
}

void die_scan_deinit(struct die_scan *scan)
{
    free(scan->abbrevs);
    free(scan->fields);
    *scan = (struct die_scan){ 0 };
}

// entry is what the attributes of one entry say about its code.
struct entry {
    bool has_low;
    bool has_high;
    bool high_is_size;
    bool has_ranges;
    bool indexed; // a value is not in the entry itself: libdw resolves it
    uint64_t low;
    uint64_t high;
    uint64_t sibling; // offset in the input; 0: not given
};

static bool is_address_index(unsigned form)
{
    return form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

static void take_role(struct die_scan *scan, const struct die_field *field,
                      struct entry *entry)
{
    uint64_t value = field->kind == DWARF_FIELD_LEB
                         ? cursor_uleb128(&scan->input)
                         : cursor_uint(&scan->input, field->size);
    entry->indexed = entry->indexed || is_address_index(field->form) ||
                     field->form == DW_FORM_implicit_const;
    switch (field->role) {
    case ROLE_LOW:
        entry->has_low = true;
        entry->low = value;
        break;
    case ROLE_HIGH:
        entry->has_high = true;
        entry->high = value;
        entry->high_is_size = field->form != DW_FORM_addr;
        break;
    case ROLE_RANGES:
        entry->has_ranges = true;
        break;
    default: // a sibling is relative to the unit's header, not the input
        if (field->form == DW_FORM_ref4 || field->form == DW_FORM_ref2 ||
            field->form == DW_FORM_ref1 || field->form == DW_FORM_ref8 ||
            field->form == DW_FORM_ref_udata)
            entry->sibling = value;
        break;
    }
}

static bool is_number(const struct die_field *field)
{
    return field->kind == DWARF_FIELD_LEB ||
           (field->kind == DWARF_FIELD_FIXED && field->size <= sizeof(uint64_t));
}

static void skip_field(struct cursor *c, const struct die_field *field)
{
    const struct dwarf_field block = { field->kind, field->size };
    switch (field->kind) {
    case DWARF_FIELD_FIXED:
        cursor_skip(c, field->size);
        break;
    case DWARF_FIELD_LEB:
        dwarf_leb_skip(c);
        break;
    case DWARF_FIELD_STRING:
        (void)cursor_string(c);
        break;
    case DWARF_FIELD_BLOCK:
    case DWARF_FIELD_BLOCK_LEB:
        (void)dwarf_field_block(c, &block);
        break;
    default:
        cursor_poison(c);
        break;
    }
}

// pass_indirect passes over an attribute whose form is in the entry.
static void pass_indirect(struct die_scan *scan, uint8_t role, struct entry *entry)
{
    uint64_t form = cursor_uleb128(&scan->input);
    struct die_field field =
        sized_field(form < UINT16_MAX ? (unsigned)form : 0, scan_sizes(scan));
    field.role = role;
    if (role != ROLE_NONE && is_number(&field))
        take_role(scan, &field, entry);
    else
        skip_field(&scan->input, &field);
}

// pass_fields reads the attributes that have a role, and skips the others.
static inline void pass_fields(struct die_scan *scan, const struct die_abbrev *abbrev,
                               struct entry *entry)
{
    if (abbrev->field_count == 0) // there may be no fields at all
        return;
    const struct die_field *field = &scan->fields[abbrev->first_field];
    const struct die_field *end = field + abbrev->field_count;
    for (; field != end; field++)
        if (field->kind == DWARF_FIELD_FIXED && field->role == ROLE_NONE)
            cursor_skip(&scan->input, field->size);
        else if (field->kind == DWARF_FIELD_INDIRECT)
            pass_indirect(scan, field->role, entry);
        else if (field->role != ROLE_NONE && is_number(field))
            take_role(scan, field, entry);
        else
            skip_field(&scan->input, field);
}

// skip_subtree goes to the sibling, which skips the children, if it is further on.
static bool skip_subtree(struct die_scan *scan, const struct entry *entry)
{
    if (entry->sibling <= scan->header_size)
        return false;
    uint64_t at = entry->sibling - scan->header_size;
    if (at <= cursor_offset(&scan->input))
        return false;
    cursor_seek(&scan->input, (size_t)at);
    return true;
}

static bool entry_code(const struct entry *entry, struct die_code *out)
{
    if (!entry->has_ranges && !(entry->has_low && entry->has_high))
        return false;
    out->exact = !entry->has_ranges && !entry->indexed;
    out->low = entry->low;
    out->high = entry->high_is_size ? entry->low + entry->high : entry->high;
    return true;
}

// die_read_entry passes over one entry; true if it has code and out was filled.
static bool die_read_entry(struct die_scan *scan, const struct die_abbrev *abbrev,
                           struct die_code *out)
{
    struct entry entry = { 0 };
    pass_fields(scan, abbrev, &entry);
    out->depth = scan->depth;
    out->inlined = abbrev->inlined;
    bool skips = abbrev->use == ABBREV_SKIP_SUBTREE ||
                 (abbrev->use == ABBREV_CODE && scan->reach == DIE_SCAN_OUTER);
    if (abbrev->children && !(skips && skip_subtree(scan, &entry)))
        scan->depth++;
    return abbrev->use == ABBREV_CODE && entry_code(&entry, out);
}

// die_check_entry finds out whether there is an entry with that abbreviation's code.
static enum ch_status die_check_entry(const struct die_scan *scan, uint64_t code)
{
    if (!cursor_ok(&scan->input) || code >= scan->abbrev_count ||
        scan->abbrevs[code].use == ABBREV_ABSENT)
        return CH_ERR_MALFORMED;
    return scan->depth > DIE_DEPTH_MAX ? CH_ERR_LIMIT : CH_OK;
}

// die_begin_entry reads the code of the next entry, and passes over the ends of lists
// of children before it.
static enum ch_status die_begin_entry(struct die_scan *scan, uint64_t *out_offset,
                                      const struct die_abbrev **out)
{
    while (cursor_left(&scan->input) != 0) {
        uint64_t offset = scan->base + cursor_offset(&scan->input);
        uint64_t code = cursor_uleb128(&scan->input);
        if (code != 0) {
            enum ch_status status = die_check_entry(scan, code);
            if (status != CH_OK)
                return status;
            *out_offset = offset;
            *out = &scan->abbrevs[code];
            return CH_OK;
        }
        if (scan->depth <= 1)
            return CH_END;
        scan->depth--;
        scan->hidden = scan->depth < scan->hidden ? 0 : scan->hidden;
    }
    return cursor_ok(&scan->input) ? CH_END : CH_ERR_TRUNCATED;
}

enum ch_status die_scan_next(struct die_scan *scan, struct die_code *out,
                             uint32_t *out_closed)
{
    uint32_t closed = scan->depth;
    for (;;) {
        struct die_code found = { 0 };
        const struct die_abbrev *abbrev;
        enum ch_status status = die_begin_entry(scan, &found.offset, &abbrev);
        if (status != CH_OK)
            return status;
        closed = scan->depth < closed ? scan->depth : closed;
        bool owns_code = die_read_entry(scan, abbrev, &found);
        if (!cursor_ok(&scan->input))
            return CH_ERR_TRUNCATED;
        if (owns_code) {
            *out = found;
            *out_closed = closed;
            return CH_OK;
        }
        if (scan->depth == 0)
            return CH_END; // the unit's own entry has no children
    }
}

// die_pass_member passes over one entry, and what it encloses if that has no members
// and the entry says where it ends.
static void die_pass_member(struct die_scan *scan, const struct die_abbrev *abbrev)
{
    struct entry entry = { 0 };
    bool encloses =
        scan->depth == 0 || (abbrev->scope && scan->depth <= DIE_SCOPES_MAX);
    pass_fields(scan, abbrev, &entry);
    if (!abbrev->children || (!encloses && skip_subtree(scan, &entry)))
        return;
    scan->depth++;
    if (!encloses && scan->hidden == 0)
        scan->hidden = scan->depth;
}

enum ch_status die_scan_next_member(struct die_scan *scan, struct die_member *out)
{
    for (;;) {
        const struct die_abbrev *abbrev;
        uint64_t offset;
        enum ch_status status = die_begin_entry(scan, &offset, &abbrev);
        if (status != CH_OK)
            return status;
        struct die_member found = { offset, scan->depth, abbrev->scope };
        bool member =
            scan->hidden == 0 && scan->depth != 0 &&
            (abbrev->scope || (abbrev->use == ABBREV_CODE && !abbrev->inlined));
        die_pass_member(scan, abbrev);
        if (!cursor_ok(&scan->input))
            return CH_ERR_TRUNCATED;
        if (member) {
            *out = found;
            return CH_OK;
        }
        if (scan->depth == 0)
            return CH_END; // the unit's own entry has no children
    }
}
