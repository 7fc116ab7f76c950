// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_table.h"

#include "symbolizer/names/dwarf_sections.h"

enum { TABLE_VERSION = 2, ADDRESS_BYTES = 8 };

// table_set is one set: the ranges of a unit.
struct table_set {
    struct cursor ranges;
    uint64_t unit; // offset in .debug_info
};

// table_next_set takes the next set. A set of another form has no ranges.
static bool table_next_set(struct cursor *table, struct table_set *out)
{
    size_t begin = cursor_offset(table);
    uint64_t length = cursor_u32(table);
    size_t word = length == UINT32_MAX ? 8 : 4;
    if (word == 8)
        length = cursor_u64(table);
    if (!cursor_ok(table) || length > cursor_left(table))
        return false;
    size_t header = cursor_offset(table) - begin;
    struct cursor set = cursor_child(table, (size_t)length);
    uint16_t version = cursor_u16(&set);
    uint64_t unit = cursor_uint(&set, word);
    uint8_t address_bytes = cursor_u8(&set);
    uint8_t segment_bytes = cursor_u8(&set);
    // The first range is aligned to the size of a range, counted from the set's begin.
    size_t past = (header + cursor_offset(&set)) % (2 * ADDRESS_BYTES);
    cursor_skip(&set, past != 0 ? 2 * ADDRESS_BYTES - past : 0);
    bool known = cursor_ok(&set) && version == TABLE_VERSION &&
                 address_bytes == ADDRESS_BYTES && segment_bytes == 0;
    *out = (struct table_set){ .ranges = known ? set : cursor_over(NULL, 0),
                               .unit = unit };
    return true;
}

static bool table_set_contains(struct cursor ranges, uint64_t vaddr)
{
    while (cursor_left(&ranges) >= 2 * ADDRESS_BYTES) {
        uint64_t begin = cursor_u64(&ranges);
        uint64_t size = cursor_u64(&ranges);
        if (vaddr - begin < size)
            return true;
    }
    return false;
}

bool address_table_find(struct cursor table, uint64_t vaddr, uint64_t *out_unit)
{
    struct table_set set;
    while (cursor_left(&table) != 0 && table_next_set(&table, &set)) {
        if (!table_set_contains(set.ranges, vaddr))
            continue;
        *out_unit = set.unit;
        return true;
    }
    return false;
}

bool address_table_unit(Dwarf *dwarf, uint64_t vaddr, Dwarf_Die *out)
{
    uint64_t unit;
    Dwarf_Off next;
    size_t header;
    struct cursor table = dwarf_section(dwarf, "debug_aranges");
    return address_table_find(table, vaddr, &unit) &&
           dwarf_next_unit(dwarf, unit, &next, &header, NULL, NULL, NULL, NULL, NULL,
                           NULL) == 0 &&
           dwarf_offdie(dwarf, unit + header, out) != NULL;
}
