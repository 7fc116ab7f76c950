// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/dwarf_members.h"

#include <string.h>

enum {
    TAG_MEMBER = 0x0d,
    TAG_STRUCTURE = 0x13,
    AT_NAME = 0x03,
    AT_MEMBER_LOCATION = 0x38,
    OP_PLUS = 0x23, // DW_OP_plus_uconst
    VERSION_LEAST = 2,
    VERSION_MOST = 5,
    LENGTH_64 = 0xfffffff0, // and larger values: not a length of 32 bits
    ABBREVS_MAX = 256,      // codes above are not looked for; Go uses about 40
};

enum dwarf_form {
    FORM_BLOCK2 = 0x03,
    FORM_BLOCK4 = 0x04,
    FORM_STRING = 0x08,
    FORM_BLOCK = 0x09,
    FORM_BLOCK1 = 0x0a,
    FORM_SDATA = 0x0d,
    FORM_UDATA = 0x0f,
    FORM_EXPRLOC = 0x18,
    FORM_IMPLICIT = 0x21,
};

// Sizes of the forms; 1 + n stands for n bytes, UNIT_ADDRESS for the unit's size of an
// address, LEB for a number of variable size. 0: see the switch, or not known.
enum { LEB = 0x40, UNIT_ADDRESS = 0x41 };
static const uint8_t dwarf_form_sizes[] = {
    [0x01] = UNIT_ADDRESS, [0x05] = 1 + 2,  [0x06] = 1 + 4, [0x07] = 1 + 8,
    [0x0b] = 1 + 1,        [0x0c] = 1 + 1,  [0x0d] = LEB,   [0x0e] = 1 + 4,
    [0x0f] = LEB,          [0x10] = 1 + 4,  [0x11] = 1 + 1, [0x12] = 1 + 2,
    [0x13] = 1 + 4,        [0x14] = 1 + 8,  [0x15] = LEB,   [0x17] = 1 + 4,
    [0x19] = 1 + 0,        [0x1a] = LEB,    [0x1b] = LEB,   [0x1c] = 1 + 4,
    [0x1d] = 1 + 4,        [0x1e] = 1 + 16, [0x1f] = 1 + 4, [0x20] = 1 + 8,
    [0x21] = 1 + 0,        [0x22] = LEB,    [0x23] = LEB,   [0x25] = 1 + 1,
    [0x26] = 1 + 2,        [0x27] = 1 + 3,  [0x28] = 1 + 4, [0x29] = 1 + 1,
    [0x2a] = 1 + 2,        [0x2b] = 1 + 3,  [0x2c] = 1 + 4,
};

// A dwarf_unit is a unit's entries and how they are written.
struct dwarf_unit {
    struct cursor entries;
    struct cursor abbrevs[ABBREVS_MAX]; // of each code, from its tag on
    uint8_t address_size;
};

// A dwarf_entry is what is read of an entry.
struct dwarf_entry {
    uint64_t tag; // 0: the end of the entries of one level
    bool has_children;
    const char *name; // NULL: it has none here
    uint64_t location;
    bool has_location;
};

// read_abbrevs notes where each code of a table begins.
static enum ch_status read_abbrevs(struct cursor abbrev, uint64_t offset,
                                   struct dwarf_unit *unit)
{
    memset(unit->abbrevs, 0, sizeof(unit->abbrevs));
    cursor_seek(&abbrev, offset <= SIZE_MAX ? (size_t)offset : SIZE_MAX);
    for (;;) {
        uint64_t code = cursor_uleb128(&abbrev);
        if (code == 0 || !cursor_ok(&abbrev))
            break;
        if (code < ABBREVS_MAX)
            unit->abbrevs[code] = abbrev;
        (void)cursor_uleb128(&abbrev); // its tag
        (void)cursor_u8(&abbrev);
        uint64_t attribute;
        uint64_t form;
        do {
            attribute = cursor_uleb128(&abbrev);
            form = cursor_uleb128(&abbrev);
            if (form == FORM_IMPLICIT)
                (void)cursor_sleb128(&abbrev);
        } while (cursor_ok(&abbrev) && (attribute != 0 || form != 0));
    }
    return cursor_ok(&abbrev) ? CH_OK : CH_ERR_TRUNCATED;
}

// read_block reads the size of a block and gives its bytes.
static struct cursor read_block(struct cursor *c, uint64_t form)
{
    uint64_t size;
    if (form == FORM_BLOCK1)
        size = cursor_u8(c);
    else if (form == FORM_BLOCK2)
        size = cursor_u16(c);
    else if (form == FORM_BLOCK4)
        size = cursor_u32(c);
    else
        size = cursor_uleb128(c);
    return cursor_child(c, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
}

// read_attribute reads one value, and keeps it if it is a name or an offset.
static enum ch_status read_attribute(struct dwarf_unit *unit, uint64_t attribute,
                                     uint64_t form, int64_t implicit,
                                     struct dwarf_entry *entry)
{
    struct cursor *c = &unit->entries;
    bool locates = attribute == AT_MEMBER_LOCATION;
    uint8_t size = form < sizeof(dwarf_form_sizes) ? dwarf_form_sizes[form] : 0;
    if (form == FORM_STRING) {
        const char *text = cursor_string(c);
        entry->name = attribute == AT_NAME ? text : entry->name;
        return CH_OK;
    }
    if (form == FORM_BLOCK || form == FORM_BLOCK1 || form == FORM_BLOCK2 ||
        form == FORM_BLOCK4 || form == FORM_EXPRLOC) {
        struct cursor block = read_block(c, form);
        if (locates && cursor_u8(&block) == OP_PLUS) {
            entry->location = cursor_uleb128(&block);
            entry->has_location = cursor_ok(&block);
        }
        return CH_OK;
    }
    if (size == 0)
        return CH_ERR_UNSUPPORTED;
    uint64_t value = 0;
    size_t bytes = size == UNIT_ADDRESS ? unit->address_size : size - (size_t)1;
    if (form == FORM_IMPLICIT)
        value = (uint64_t)implicit;
    else if (size == LEB)
        value = form == FORM_SDATA ? (uint64_t)cursor_sleb128(c) : cursor_uleb128(c);
    else if (bytes > sizeof(value))
        cursor_skip(c, bytes);
    else
        value = cursor_uint(c, bytes);
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
    struct cursor abbrev = { 0 };
    if (code < ABBREVS_MAX)
        abbrev = unit->abbrevs[code];
    out->tag = cursor_uleb128(&abbrev);
    out->has_children = cursor_u8(&abbrev) != 0;
    if (!cursor_ok(&abbrev) || out->tag == 0)
        return CH_ERR_MALFORMED;
    for (;;) {
        uint64_t attribute = cursor_uleb128(&abbrev);
        uint64_t form = cursor_uleb128(&abbrev);
        int64_t implicit = form == FORM_IMPLICIT ? cursor_sleb128(&abbrev) : 0;
        if (!cursor_ok(&abbrev) || !cursor_ok(&unit->entries))
            return CH_ERR_TRUNCATED;
        if (attribute == 0 && form == 0)
            return CH_OK;
        enum ch_status status = read_attribute(unit, attribute, form, implicit, out);
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
        out->address_size = cursor_u8(&unit);
        offset = cursor_u32(&unit);
    } else {
        offset = cursor_u32(&unit);
        out->address_size = cursor_u8(&unit);
    }
    if (!cursor_ok(&unit))
        return CH_ERR_TRUNCATED;
    if (version < VERSION_LEAST || version > VERSION_MOST)
        return CH_ERR_UNSUPPORTED;
    out->entries = unit;
    return read_abbrevs(abbrev, offset, out);
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
