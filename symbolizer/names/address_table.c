// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_table.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbolizer/files/debug_elf.h"

// Lengths from here on say that a header is of 64-bit DWARF, or nothing.
#define LENGTHS_END 0xfffffff0u

// view_read opens the unit, once nothing but it is left to be read.
static Dwarf *view_read(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out)
{
    Dwarf_Off next;
    size_t header;
    Dwarf *view = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (view == NULL)
        return NULL;
    if (dwarf_next_unit(view, unit, &next, &header, NULL, NULL, NULL, NULL, NULL,
                        NULL) == 0 &&
        dwarf_offdie(view, unit + header, out) != NULL)
        return view;
    dwarf_end(view);
    return NULL;
}

Dwarf *unit_view_open(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out)
{
    GElf_Shdr header;
    uint32_t length;
    Elf_Scn *scn = debug_elf_find_section(file, ".debug_info", &header);
    Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL || header.sh_flags & SHF_COMPRESSED ||
        unit > data->d_size || unit < sizeof(length) ||
        unit - sizeof(length) >= LENGTHS_END)
        return NULL;
    memcpy(&length, data->d_buf, sizeof(length));
    if (length >= LENGTHS_END)
        return NULL;
    // libdw reads the length of the file's first unit, in our private mapping, as if
    // that unit went on to the one that is wanted. It keeps what it has read.
    const uint32_t up_to_unit = (uint32_t)(unit - sizeof(length));
    memcpy(data->d_buf, &up_to_unit, sizeof(up_to_unit));
    Dwarf *view = view_read(file, unit, out);
    memcpy(data->d_buf, &length, sizeof(length));
    return view;
}

enum { TABLE_VERSION = 2, ADDRESS_BYTES = 8, UNITS_AT_ONCE = 128, READS_MAX = 64 };

// table_next_set begins the next set. A set of another form has no ranges.
static bool table_next_set(struct address_sets *at)
{
    struct cursor *table = &at->sets;
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
    at->ranges = known ? set : cursor_over(NULL, 0);
    at->unit = unit;
    return true;
}

struct address_sets address_table_sets(struct cursor section)
{
    return (struct address_sets){ .sets = section, .ranges = cursor_over(NULL, 0) };
}

bool address_table_next(struct address_sets *at, uint64_t *out_low, uint64_t *out_size)
{
    do {
        while (cursor_left(&at->ranges) >= 2 * ADDRESS_BYTES) {
            uint64_t low = cursor_u64(&at->ranges);
            uint64_t size = cursor_u64(&at->ranges);
            if (size == 0) // as in the pair that ends a set
                continue;
            *out_low = low;
            *out_size = size;
            return true;
        }
    } while (cursor_left(&at->sets) != 0 && table_next_set(at));
    return false;
}

// ranges_have returns true if one of a set's ranges contains vaddr. A large library has
// tens of thousands, of which each lookup passes half.
static bool ranges_have(struct cursor ranges, uint64_t vaddr)
{
    const size_t count = cursor_left(&ranges) / (2 * ADDRESS_BYTES);
    const uint8_t *bytes = cursor_take(&ranges, count * 2 * ADDRESS_BYTES);
    for (size_t i = 0; i < count; i++) {
        uint64_t range[2]; // in this machine's byte order, as other files are refused
        memcpy(range, bytes + i * sizeof(range), sizeof(range));
        if (vaddr - range[0] < range[1])
            return true;
    }
    return false;
}

bool address_table_find(struct cursor section, uint64_t vaddr, uint64_t *out_unit)
{
    struct address_sets at = address_table_sets(section);
    while (cursor_left(&at.sets) != 0 && table_next_set(&at)) {
        if (!ranges_have(at.ranges, vaddr))
            continue;
        *out_unit = at.unit;
        return true;
    }
    return false;
}

// unit_entry gives the entry of the unit at that offset.
static bool unit_entry(Dwarf *dwarf, uint64_t unit, Dwarf_Die *out)
{
    Dwarf_Off next;
    size_t header;
    return dwarf_next_unit(dwarf, unit, &next, &header, NULL, NULL, NULL, NULL, NULL,
                           NULL) == 0 &&
           dwarf_offdie(dwarf, unit + header, out) != NULL;
}

// pass_units makes libdw read the headers of the units before the one at that offset,
// which it does for any unit. Reading a header maps what the page cache has around it,
// 64 KB in most kernels; those of a large file would be most of the process's memory.
static void pass_units(struct address_table *table, struct cursor section,
                       uint64_t before)
{
    if (before <= table->passed)
        return;
    struct address_sets set = address_table_sets(section);
    Dwarf_Die unit;
    unsigned passed = 0;
    while (table_next_set(&set) && set.unit < before) {
        if (set.unit <= table->passed || ++passed % UNITS_AT_ONCE != 0)
            continue;
        table->passed = set.unit;
        if (unit_entry(table->dwarf, set.unit, &unit))
            debug_elf_drop_pages(table->file);
    }
}

// sort_units makes the sorted copy. Where memory runs out, it has fewer ranges.
static void sort_units(struct address_map *units, struct cursor section)
{
    struct address_sets sets = address_table_sets(section);
    uint64_t low;
    uint64_t size;
    while (address_table_next(&sets, &low, &size)) {
        const struct address_range range = { .low = low,
                                             .high = low + size,
                                             .owner = (uint32_t)sets.unit };
        // Nothing here makes units beyond 4 GB.
        if (sets.unit < ADDRESS_MAP_NONE && address_map_add(units, &range) != CH_OK)
            break;
    }
    if (address_map_build(units) != CH_OK)
        address_map_deinit(units);
}

static bool find_unit(struct address_table *table, struct cursor section,
                      uint64_t vaddr, uint64_t *out)
{
    if (table->reads < READS_MAX) {
        table->reads++;
        return address_table_find(section, vaddr, out);
    }
    if (table->reads == READS_MAX)
        sort_units(&table->units, section);
    table->reads = READS_MAX + 1;
    uint32_t found = address_map_find(&table->units, vaddr);
    *out = found;
    return found != ADDRESS_MAP_NONE;
}

bool address_table_view(struct address_table *table, uint64_t offset, Dwarf_Die *out)
{
    struct address_unit unit = { .offset = offset };
    if (table->whole)
        return false;
    if (offset == 0) // no unit is before it
        return unit_entry(table->dwarf, offset, out);
    for (size_t i = 0; i < table->viewed_count; i++)
        if (table->viewed[i].offset == offset) {
            *out = table->viewed[i].die;
            return true;
        }
    if (!array_reserve(&table->viewed, &table->viewed_capacity, table->viewed_count,
                       sizeof(unit)))
        return false;
    unit.view = unit_view_open(table->file, offset, &unit.die);
    if (unit.view == NULL)
        return false;
    table->viewed[table->viewed_count++] = unit;
    *out = unit.die;
    return true;
}

bool address_table_unit(struct address_table *table, uint64_t vaddr, Dwarf_Die *out)
{
    uint64_t unit;
    struct cursor section = dwarf_section(table->dwarf, "debug_aranges");
    if (!find_unit(table, section, vaddr, &unit))
        return false;
    if (address_table_view(table, unit, out))
        return true;
    pass_units(table, section, unit);
    return unit_entry(table->dwarf, unit, out);
}

void address_table_deinit(struct address_table *table)
{
    address_map_deinit(&table->units);
    for (size_t i = 0; i < table->viewed_count; i++)
        dwarf_end(table->viewed[i].view);
    free(table->viewed);
}
