// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/dwarf_members.h"

#include <string.h>

#include "formats/debug/dwarf_abbrev.h"

enum {
    TAG_MEMBER = 0x0d,
    TAG_STRUCTURE = 0x13,
    AT_NAME = 0x03,
    FORM_SDATA = 0x0d,
    AT_MEMBER_LOCATION = 0x38,
    OP_PLUS = 0x23, // DW_OP_plus_uconst
    VERSION_LEAST = 2,
    VERSION_MOST = 5,
    LENGTH_64 = 0xfffffff0, // and larger values: not a length of 32 bits
    ABBREVS_MAX = 256,      // codes above are not looked for; Go uses about 40
};

// A dwarf_unit is a unit's entries and how they are written.
struct dwarf_unit {
    struct cursor entries;
    struct cursor abbrevs[ABBREVS_MAX]; // of each code
    struct dwarf_sizes sizes;
};

// A dwarf_entry is what is read of an entry.
struct dwarf_entry {
    uint64_t tag; // 0: the end of the entries of one level
    bool has_children;
    const char *name; // NULL: it has none here
    uint64_t location;
    bool has_location;
};

// note_abbrevs notes where each code of a table begins.
static enum ch_status note_abbrevs(struct cursor table, uint64_t offset,
                                   struct dwarf_unit *unit)
{
    memset(unit->abbrevs, 0, sizeof(unit->abbrevs));
    cursor_seek(&table, offset <= SIZE_MAX ? (size_t)offset : SIZE_MAX);
    for (;;) {
        struct cursor start = table;
        struct dwarf_abbrev abbrev;
        struct dwarf_attribute attribute;
        enum ch_status status = dwarf_abbrev_next(&table, &abbrev);
        if (status != CH_OK)
            return status == CH_END ? CH_OK : status;
        if (abbrev.code < ABBREVS_MAX)
            unit->abbrevs[abbrev.code] = start;
        while (status == CH_OK)
            status = dwarf_abbrev_attribute(&table, &attribute);
        if (status != CH_END)
            return status;
    }
}

// member_number reads the value of an attribute that is one.
static uint64_t member_number(struct cursor *c, const struct dwarf_field *field,
                              const struct dwarf_attribute *attribute)
{
    if (attribute->form == DWARF_FORM_IMPLICIT)
        return (uint64_t)attribute->implicit;
    if (field->kind == DWARF_FIELD_LEB)
        return attribute->form == FORM_SDATA ? (uint64_t)cursor_sleb128(c)
                                             : cursor_uleb128(c);
    if (field->size <= sizeof(uint64_t))
        return cursor_uint(c, field->size);
    cursor_skip(c, field->size);
    return 0;
}

// read_attribute reads one value, and keeps it if it is a name or an offset.
static enum ch_status read_attribute(struct dwarf_unit *unit,
                                     const struct dwarf_attribute *attribute,
                                     struct dwarf_entry *entry)
{
    struct cursor *c = &unit->entries;
    bool locates = attribute->name == AT_MEMBER_LOCATION;
    struct dwarf_field field = dwarf_field_of(attribute->form, unit->sizes);
    if (field.kind == DWARF_FIELD_UNKNOWN || field.kind == DWARF_FIELD_INDIRECT)
        return CH_ERR_UNSUPPORTED;
    if (field.kind == DWARF_FIELD_STRING) {
        const char *text = cursor_string(c);
        entry->name = attribute->name == AT_NAME ? text : entry->name;
        return CH_OK;
    }
    if (field.kind == DWARF_FIELD_BLOCK || field.kind == DWARF_FIELD_BLOCK_LEB) {
        struct cursor block = dwarf_field_block(c, &field);
        if (locates && cursor_u8(&block) == OP_PLUS) {
            entry->location = cursor_uleb128(&block);
            entry->has_location = cursor_ok(&block);
        }
        return CH_OK;
    }
    uint64_t value = member_number(c, &field, attribute);
    if (locates) {
        entry->location = value;
        entry->has_location = true;
    }
    return CH_OK;
}

// next_entry reads the next entry of a unit.
static enum ch_status next_entry(struct dwarf_unit *unit, struct dwarf_entry *out)
{
    uint64_t code = cursor_uleb128(&unit->entries);
    *out = (struct dwarf_entry){ 0 };
    if (!cursor_ok(&unit->entries))
        return CH_ERR_TRUNCATED;
    if (code == 0)
        return CH_OK;
    struct cursor table = { 0 };
    struct dwarf_abbrev abbrev;
    if (code < ABBREVS_MAX)
        table = unit->abbrevs[code];
    if (dwarf_abbrev_next(&table, &abbrev) != CH_OK || abbrev.tag == 0)
        return CH_ERR_MALFORMED;
    out->tag = abbrev.tag;
    out->has_children = abbrev.children;
    for (;;) {
        struct dwarf_attribute attribute;
        enum ch_status status = dwarf_abbrev_attribute(&table, &attribute);
        if (!cursor_ok(&unit->entries))
            return CH_ERR_TRUNCATED;
        if (status != CH_OK)
            return status == CH_END ? CH_OK : status;
        status = read_attribute(unit, &attribute, out);
        if (status != CH_OK)
            return status;
    }
}

// next_unit reads the next unit's header. CH_END: there are no more.
static enum ch_status next_unit(struct cursor *info, struct cursor abbrev,
                                struct dwarf_unit *out)
{
    if (cursor_ok(info) && cursor_left(info) == 0)
        return CH_END;
    uint32_t length = cursor_u32(info);
    if (!cursor_ok(info))
        return CH_ERR_TRUNCATED;
    if (length >= LENGTH_64)
        return CH_ERR_UNSUPPORTED;
    struct cursor unit = cursor_child(info, length);
    uint64_t offset;
    uint16_t version = cursor_u16(&unit);
    if (version >= 5) {
        (void)cursor_u8(&unit); // its kind
        out->sizes.address = cursor_u8(&unit);
        offset = cursor_u32(&unit);
    } else {
        offset = cursor_u32(&unit);
        out->sizes.address = cursor_u8(&unit);
    }
    if (!cursor_ok(&unit))
        return CH_ERR_TRUNCATED;
    if (version < VERSION_LEAST || version > VERSION_MOST)
        return CH_ERR_UNSUPPORTED;
    out->entries = unit;
    out->sizes.offset = sizeof(uint32_t);
    out->sizes.version = version;
    return note_abbrevs(abbrev, offset, out);
}

static void note_member(const struct dwarf_entry *entry, struct dwarf_member *members,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!members[i].found && strcmp(members[i].name, entry->name) == 0) {
            members[i].offset = entry->location;
            members[i].found = true;
        }
}

// read_members reads the entries below a structure's.
static enum ch_status read_members(struct dwarf_unit *unit,
                                   struct dwarf_member *members, size_t count)
{
    size_t depth = 1;
    while (depth != 0) {
        struct dwarf_entry entry;
        enum ch_status status = next_entry(unit, &entry);
        if (status != CH_OK)
            return status;
        if (entry.tag == 0) {
            depth--;
            continue;
        }
        if (depth == 1 && entry.tag == TAG_MEMBER && entry.name != NULL &&
            entry.has_location)
            note_member(&entry, members, count);
        depth += entry.has_children;
    }
    return CH_OK;
}

// search_unit reads a unit's entries until the structure.
static enum ch_status search_unit(struct dwarf_unit *unit, const char *type,
                                  struct dwarf_member *members, size_t count)
{
    while (cursor_left(&unit->entries) != 0) {
        struct dwarf_entry entry;
        enum ch_status status = next_entry(unit, &entry);
        if (status != CH_OK)
            return status;
        if (entry.tag == TAG_STRUCTURE && entry.has_children && entry.name != NULL &&
            strcmp(entry.name, type) == 0)
            return read_members(unit, members, count);
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status dwarf_members_find(struct cursor info, struct cursor abbrev,
                                  const char *unit, const char *type,
                                  struct dwarf_member *members, size_t count)
{
    for (;;) {
        struct dwarf_unit one;
        struct dwarf_entry entry;
        enum ch_status status = next_unit(&info, abbrev, &one);
        if (status == CH_END)
            return CH_ERR_NOT_FOUND;
        if (status == CH_OK)
            status = next_entry(&one, &entry);
        if (status != CH_OK)
            return status;
        if (entry.name == NULL || strcmp(entry.name, unit) != 0)
            continue;
        status = search_unit(&one, type, members, count);
        if (status != CH_ERR_NOT_FOUND)
            return status;
    }
}
