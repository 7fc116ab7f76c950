// SPDX-License-Identifier: Apache-2.0
//
// How it works: find the unit by .debug_aranges (read_aranges), else by the ranges in
// the entries of the units (need_stated), else by opening units without ranges one
// after another. Opening a unit (open_unit) reads its scopes; need_lines reads its line
// table.
// Invariants: each of these is read at most once, also where reading it failed;
// `halved` marks a split unit whose file with the functions is missing.
#include "symbolizer/names/unit_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"
#include "base/text.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/names/address_map.h"
#include "symbolizer/names/address_table.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/die_scan.h"

enum { OPEN_MAX = 1024, DIE_RANGES_MAX = 65536, UNIT_SCOPES_MAX = 1 << 30 };

// open_scopes are the scopes that enclose the current entry.
struct open_scopes {
    uint32_t scope[OPEN_MAX];
    uint32_t depth[OPEN_MAX];
    uint32_t count;
};

struct reading {
    struct unit_scopes *scopes;
    struct open_scopes open;
    uint64_t text_low;
    uint64_t text_high;
    enum unit_scopes_part part;
};

void unit_scopes_deinit(struct unit_scopes *scopes)
{
    free(scopes->scopes);
    address_map_deinit(&scopes->map);
    *scopes = (struct unit_scopes){ 0 };
}

uint32_t unit_scopes_function(const struct unit_scopes *scopes, uint32_t scope)
{
    while (scope != UNIT_SCOPE_NONE && scopes->scopes[scope].inlined)
        scope = scopes->scopes[scope].parent;
    return scope;
}

static enum ch_status add_range(struct reading *reading, uint64_t low, uint64_t high)
{
    if (low < reading->text_low || high > reading->text_high)
        return CH_OK;
    struct address_range range = {
        .low = low,
        .high = high,
        .depth = reading->open.count,
        .owner = (uint32_t)(reading->scopes->count - 1),
    };
    return address_map_add(&reading->scopes->map, &range);
}

// add_listed_ranges has libdw read ranges that are not in the entry itself.
static enum ch_status add_listed_ranges(struct reading *reading, uint64_t die_offset)
{
    Dwarf_Die die;
    if (dwarf_offdie(reading->scopes->dwarf, die_offset, &die) == NULL)
        return CH_ERR_MALFORMED;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    ptrdiff_t at = 0;
    for (int i = 0; i < DIE_RANGES_MAX; i++) {
        at = dwarf_ranges(&die, at, &base, &low, &high);
        if (at <= 0)
            break;
        enum ch_status status = add_range(reading, low, high);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

static enum ch_status add_scope(struct reading *reading, const struct die_code *code)
{
    struct unit_scopes *scopes = reading->scopes;
    struct open_scopes *open = &reading->open;
    if (open->count == OPEN_MAX || scopes->count >= UNIT_SCOPES_MAX)
        return CH_ERR_LIMIT;
    if (!array_reserve(&scopes->scopes, &scopes->capacity, scopes->count,
                       sizeof(scopes->scopes[0])))
        return CH_ERR_NO_MEMORY;
    // A nested function, as in GNU C and D, is not inlined into its enclosing one.
    uint32_t parent = code->inlined && open->count != 0 ? open->scope[open->count - 1]
                                                        : UNIT_SCOPE_NONE;
    scopes->scopes[scopes->count] = (struct unit_scope){ .die_offset = code->offset,
                                                         .parent = parent,
                                                         .inlined = code->inlined };
    open->scope[open->count] = (uint32_t)scopes->count++;
    open->depth[open->count++] = code->depth;
    return code->exact ? add_range(reading, code->low, code->high)
                       : add_listed_ranges(reading, code->offset);
}

static enum ch_status read_scopes(struct reading *reading, struct die_scan *scan)
{
    for (;;) {
        struct die_code code;
        uint32_t closed;
        enum ch_status status = die_scan_next(scan, &code, &closed);
        if (status != CH_OK)
            return status == CH_ERR_NO_MEMORY ? status : CH_OK;
        struct open_scopes *open = &reading->open;
        while (open->count != 0 && open->depth[open->count - 1] >= closed)
            open->count--;
        if (code.inlined && reading->part != UNIT_SCOPES_ALL)
            continue;
        status = add_scope(reading, &code);
        if (status == CH_ERR_NO_MEMORY)
            return status;
        if (status != CH_OK)
            return CH_OK;
    }
}

enum ch_status unit_scopes_read(struct unit_scopes *out, Dwarf_Die *unit,
                                const uint64_t text[2], enum unit_scopes_part part)
{
    *out = (struct unit_scopes){ .dwarf = dwarf_cu_getdwarf(unit->cu) };
    struct reading reading = {
        .scopes = out, .text_low = text[0], .text_high = text[1], .part = part
    };
    struct die_scan scan;
    enum ch_status status = die_scan_init(
        &scan, unit, part == UNIT_SCOPES_OUTER ? DIE_SCAN_OUTER : DIE_SCAN_ALL);
    if (status != CH_OK)
        return status;
    out->refers_out = scan.refers_out;
    status = read_scopes(&reading, &scan);
    die_scan_deinit(&scan);
    array_trim(&out->scopes, &out->capacity, out->count, sizeof(out->scopes[0]));
    if (status == CH_OK)
        status = address_map_build(&out->map);
    if (status != CH_OK)
        unit_scopes_deinit(out);
    return status;
}

// open_spaces are the scopes that enclose the current entry.
struct open_spaces {
    uint32_t space[DIE_SCOPES_MAX];
    unsigned count;
};

static void unit_spaces_deinit(struct unit_spaces *spaces)
{
    free(spaces->spaces);
    free(spaces->members);
    *spaces = (struct unit_spaces){ 0 };
}

// name_of_space gives the name of a scope. Only a namespace without one has a usual
// name.
static const char *name_of_space(const struct unit_spaces *spaces,
                                 const struct unit_space *space)
{
    Dwarf_Die die;
    if (dwarf_offdie(spaces->dwarf, space->die_offset, &die) == NULL)
        return NULL;
    const char *name = dwarf_diename(&die);
    bool unnamed = name == NULL && dwarf_tag(&die) == DW_TAG_namespace;
    return unnamed ? "(anonymous namespace)" : name;
}

static enum ch_status add_space(struct unit_spaces *spaces, uint64_t die_offset,
                                uint32_t parent)
{
    if (!array_reserve(&spaces->spaces, &spaces->capacity, spaces->count,
                       sizeof(spaces->spaces[0])))
        return CH_ERR_NO_MEMORY;
    spaces->spaces[spaces->count++] =
        (struct unit_space){ .die_offset = die_offset, .parent = parent };
    return CH_OK;
}

static enum ch_status add_member(struct unit_spaces *spaces, uint64_t die_offset,
                                 uint32_t space)
{
    if (!array_reserve(&spaces->members, &spaces->member_capacity, spaces->member_count,
                       sizeof(spaces->members[0])))
        return CH_ERR_NO_MEMORY;
    spaces->members[spaces->member_count++] =
        (struct unit_member){ .die_offset = die_offset, .space = space };
    return CH_OK;
}

// note_scope notes a scope, or a function that is in one. Entries follow each other
// as they are nested, so a scope at depth d has d - 1 around it.
static enum ch_status note_scope(struct unit_spaces *spaces, struct open_spaces *open,
                                 const struct die_member *member)
{
    if (open->count >= member->depth)
        open->count = member->depth - 1;
    uint32_t of = open->count != 0 ? open->space[open->count - 1] : UNIT_SPACE_NONE;
    if (!member->scope)
        return of != UNIT_SPACE_NONE ? add_member(spaces, member->offset, of) : CH_OK;
    enum ch_status status = add_space(spaces, member->offset, of);
    if (status == CH_OK && open->count < DIE_SCOPES_MAX)
        open->space[open->count++] = (uint32_t)(spaces->count - 1);
    return status;
}

// unit_spaces_read reads those of unit. On failure nothing is held.
static enum ch_status unit_spaces_read(struct unit_spaces *out, Dwarf_Die *unit)
{
    struct open_spaces open = { .count = 0 };
    struct die_member member;
    struct die_scan scan;
    *out = (struct unit_spaces){ .dwarf = dwarf_cu_getdwarf(unit->cu) };
    enum ch_status status = die_scan_init(&scan, unit, DIE_SCAN_ALL);
    if (status != CH_OK)
        return status;
    while (status != CH_ERR_NO_MEMORY && die_scan_next_member(&scan, &member) == CH_OK)
        status = note_scope(out, &open, &member);
    die_scan_deinit(&scan);
    if (status != CH_OK)
        unit_spaces_deinit(out);
    return status;
}

// append_space appends a scope and those around it, outermost first.
static enum ch_status append_space(const struct unit_spaces *spaces, uint32_t space,
                                   struct text *out)
{
    const char *names[DIE_SCOPES_MAX];
    size_t count = 0;
    for (; space != UNIT_SPACE_NONE && count < DIE_SCOPES_MAX;
         space = spaces->spaces[space].parent) {
        names[count] = name_of_space(spaces, &spaces->spaces[space]);
        if (names[count++] == NULL)
            return CH_ERR_NOT_FOUND;
    }
    while (count-- > 0) {
        text_append_string(out, names[count]);
        text_append_string(out, "::");
    }
    return CH_OK;
}

// unit_spaces_qualify appends name, the name of the function at die_offset, after its
// scope: "settings::(anonymous namespace)::read". CH_ERR_NOT_FOUND: it has no scope, or
// one without a name.
static enum ch_status unit_spaces_qualify(const struct unit_spaces *spaces,
                                          uint64_t die_offset, const char *name,
                                          struct text *out)
{
    size_t after =
        SORTED_UP_TO(spaces->members, spaces->member_count, die_offset, die_offset);
    if (after == 0 || spaces->members[after - 1].die_offset != die_offset)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = append_space(spaces, spaces->members[after - 1].space, out);
    if (status == CH_OK)
        text_append_string(out, name);
    return status;
}

enum { UNITS_MAX = 1 << 20, UNIT_RANGES_MAX = 1 << 20, FUNCTION_PARTS_MAX = 4096 };

static void close_unit(struct unit *unit)
{
    for (size_t i = 0; i < unit->site_count; i++)
        free(unit->sites[i].name);
    free(unit->sites);
    unit_scopes_deinit(&unit->scopes);
    line_table_deinit(&unit->lines);
    line_table_deinit(&unit->split_files);
    unit_spaces_deinit(&unit->spaces);
}

void unit_index_deinit(struct unit_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        close_unit(&index->units[i]);
    free(index->units);
    free(index->unranged);
    address_map_deinit(&index->listed);
    address_map_deinit(&index->stated);
    *index = (struct unit_index){ 0 };
}

// add_unit_ranges adds a unit with the ranges in its entry.
static enum ch_status add_unit_ranges(struct unit_index *index, uint32_t unit)
{
    Dwarf_Die *die = &index->units[unit].die;
    bool stated = false;
    Dwarf_Addr base;
    struct address_range range = { .owner = unit };
    ptrdiff_t at = 0;
    for (int i = 0; i < UNIT_RANGES_MAX; i++) {
        at = dwarf_ranges(die, at, &base, &range.low, &range.high);
        if (at <= 0)
            break;
        stated = true;
        if (range.low < index->text[0] || range.high > index->text[1])
            continue;
        enum ch_status status = address_map_add(&index->stated, &range);
        if (status != CH_OK)
            return status;
    }
    if (stated)
        return CH_OK;
    if (!array_reserve(&index->unranged, &index->unranged_capacity,
                       index->unranged_count, sizeof(unit)))
        return CH_ERR_NO_MEMORY;
    index->unranged[index->unranged_count++] = unit;
    return CH_OK;
}

// need_stated reads the entries of units that .debug_aranges does not mention.
static enum ch_status need_stated(struct unit_index *index)
{
    enum ch_status status = CH_OK;
    if (index->stated_read)
        return CH_OK;
    index->stated_read = true;
    for (uint32_t i = 0; status == CH_OK && i < index->count; i++) {
        struct unit *unit = &index->units[i];
        if (!unit->listed && dwarf_tag(&unit->die) != DW_TAG_partial_unit)
            status = add_unit_ranges(index, i);
    }
    return status == CH_OK ? address_map_build(&index->stated) : status;
}

// unit_at gives the index of the unit whose header is at offset, or ADDRESS_MAP_NONE.
static uint32_t unit_at(const struct unit_index *index, uint64_t offset)
{
    size_t after = SORTED_UP_TO(index->units, index->count, offset, offset);
    bool found = after != 0 && index->units[after - 1].offset == offset;
    return found ? (uint32_t)(after - 1) : ADDRESS_MAP_NONE;
}

// read_aranges adds units with their ranges in .debug_aranges, if there is one.
static enum ch_status read_aranges(struct unit_index *index)
{
    struct address_sets table =
        address_table_sets(dwarf_section(index->dwarf, "debug_aranges"));
    struct address_range range = { .owner = ADDRESS_MAP_NONE };
    uint64_t offset = UINT64_MAX; // of the owner
    uint64_t size;
    enum ch_status status = CH_OK;
    while (status == CH_OK && address_table_next(&table, &range.low, &size)) {
        if (table.unit != offset)
            range.owner = unit_at(index, table.unit);
        offset = table.unit;
        if (range.owner == ADDRESS_MAP_NONE || range.low < index->text[0] ||
            __builtin_add_overflow(range.low, size, &range.high) ||
            range.high > index->text[1])
            continue;
        index->units[range.owner].listed = true;
        status = address_map_add(&index->listed, &range);
    }
    return status == CH_OK ? address_map_build(&index->listed) : status;
}

// offset_of_unit gives where the header before a unit's entry begins.
static uint64_t offset_of_unit(Dwarf_Die *die)
{
    return dwarf_dieoffset(die) - dwarf_cuoffset(die);
}

static enum ch_status add_unit(struct unit_index *index, Dwarf_Die *die)
{
    if (!array_reserve(&index->units, &index->capacity, index->count,
                       sizeof(index->units[0])))
        return CH_ERR_NO_MEMORY;
    index->units[index->count++] =
        (struct unit){ .die = *die, .offset = offset_of_unit(die) };
    return CH_OK;
}

enum ch_status unit_index_init(struct unit_index *index, Dwarf *dwarf,
                               const uint64_t text[2], bool functions_only)
{
    *index = (struct unit_index){ .dwarf = dwarf,
                                  .text = { text[0], text[1] },
                                  .functions_only = functions_only };
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;
    enum ch_status status = CH_OK;
    for (int i = 0; status == CH_OK && i < UNITS_MAX; i++) {
        if (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) != 0)
            break;
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            status = add_unit(index, &die);
    }
    if (status == CH_OK)
        status = read_aranges(index);
    if (status != CH_OK)
        unit_index_deinit(index);
    return status;
}

// is_mangling returns true if the language's linker names say more than its source
// names: all but C and similar ones.
static bool is_mangling(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_UPC:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

// open_unit reads a unit's scopes; a split unit's are in another file, which is
// searched for only now.
static void open_unit(struct unit_index *index, struct unit *unit)
{
    if (unit->opened)
        return;
    unit->opened = true;
    unit->whole = unit->die;
    uint8_t type;
    Dwarf_Die split;
    bool skeleton =
        dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton;
    if (skeleton && split.cu != NULL)
        unit->whole = split;
    unit->split = unit->whole.cu != unit->die.cu;
    unit->halved = skeleton && !unit->split;
    unit->mangles = is_mangling(&unit->whole);
    enum ch_status status = unit_scopes_read(
        &unit->scopes, &unit->whole, index->text,
        index->functions_only ? UNIT_SCOPES_FUNCTIONS : UNIT_SCOPES_ALL);
    if (status != CH_OK)
        unit->scopes = (struct unit_scopes){ 0 }; // lines may still be available
}

static struct unit *find_unranged(struct unit_index *index, uint64_t vaddr)
{
    for (size_t i = 0; i < index->unranged_count; i++) {
        struct unit *unit = &index->units[index->unranged[i]];
        open_unit(index, unit);
        if (address_map_find(&unit->scopes.map, vaddr) != UNIT_SCOPE_NONE)
            return unit;
    }
    return NULL;
}

struct unit *unit_index_find(struct unit_index *index, uint64_t vaddr)
{
    uint32_t found = address_map_find(&index->listed, vaddr);
    if (found == ADDRESS_MAP_NONE && need_stated(index) == CH_OK)
        found = address_map_find(&index->stated, vaddr);
    if (found == ADDRESS_MAP_NONE)
        return find_unranged(index, vaddr);
    open_unit(index, &index->units[found]);
    return &index->units[found];
}

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, name, &attribute) == NULL)
        return NULL;
    return dwarf_formstring(&attribute);
}

static const char *linker_name(Dwarf_Die *die)
{
    const char *name = string_attribute(die, DW_AT_linkage_name);
    return name != NULL ? name : string_attribute(die, DW_AT_MIPS_linkage_name);
}

// number_attribute gives a number, 0 if the entry itself does not have it.
static uint32_t number_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr(die, name, &attribute) == NULL ||
        dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

// read_lines reads the line table that die, the entry of a unit, refers to.
static void read_lines(const struct unit_index *index, struct unit *unit,
                       Dwarf_Die *die, bool files_only, struct line_table *out)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    // The file of a split unit has only one table.
    if ((dwarf_attr(die, DW_AT_stmt_list, &attribute) == NULL ||
         dwarf_formudata(&attribute, &offset) != 0) &&
        die == &unit->die)
        return;
    struct line_source source = {
        .lines = dwarf_section(dwarf, "debug_line"),
        .line_strings = dwarf_section(dwarf, "debug_line_str"),
        .strings = dwarf_section(dwarf, "debug_str"),
        .offset = offset,
        .directory = string_attribute(&unit->die, DW_AT_comp_dir),
        .text = { index->text[0], index->text[1] },
        .files_only = files_only,
    };
    if (line_table_read(out, &source) != CH_OK)
        *out = (struct line_table){ 0 };
}

static void need_lines(const struct unit_index *index, struct unit *unit)
{
    if (unit->lines_read)
        return;
    unit->lines_read = true;
    read_lines(index, unit, &unit->die, false, &unit->lines);
    if (unit->split)
        read_lines(index, unit, &unit->whole, true, &unit->split_files);
}

void unit_files(const struct unit_index *index, struct unit *unit,
                struct line_table *out)
{
    *out = (struct line_table){ 0 };
    read_lines(index, unit, &unit->die, true, out);
}

// follow_origin moves die from an inlined call, or a definition outside of its class,
// to the entry of the function where it was declared.
static void follow_origin(Dwarf_Die *die)
{
    enum { LINKS_MAX = 8 };
    static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    for (size_t i = 0; i < LINKS_MAX; i++) {
        if (dwarf_attr(die, links[0], &attribute) == NULL &&
            dwarf_attr(die, links[1], &attribute) == NULL)
            return;
        if (dwarf_formref_die(&attribute, &origin) == NULL)
            return;
        *die = origin;
    }
}

static bool is_cplusplus(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return true;
    default:
        return false;
    }
}

// spaces_of gives the scopes of the unit that die is in, which after link-time
// optimization, or where units share entries (dwz), need not be the one of the code.
// Those of a unit that is not listed are read into own, for this one time. NULL: out of
// memory.
static const struct unit_spaces *spaces_of(struct unit_index *index, struct unit *unit,
                                           Dwarf_Die *die, struct unit_spaces *own)
{
    Dwarf_Die entry;
    if (dwarf_diecu(die, &entry, NULL, NULL) == NULL)
        return NULL;
    bool is_same_file = dwarf_cu_getdwarf(entry.cu) == index->dwarf;
    uint32_t found =
        is_same_file ? unit_at(index, offset_of_unit(&entry)) : ADDRESS_MAP_NONE;
    if (die->cu != unit->whole.cu)
        unit = found != ADDRESS_MAP_NONE ? &index->units[found] : NULL;
    if (unit == NULL)
        return unit_spaces_read(own, &entry) == CH_OK ? own : NULL;
    if (!unit->spaces_read && unit_spaces_read(&unit->spaces, &entry) != CH_OK)
        return NULL;
    unit->spaces_read = true;
    return &unit->spaces;
}

// qualified_name gives the C++ function at die, which is changed, with its scope, to be
// freed; NULL: it has none.
static char *qualified_name(struct unit_index *index, struct unit *unit, Dwarf_Die *die,
                            const char *name)
{
    struct text CH_CLEANUP(text_deinit) qualified = { 0 };
    struct unit_spaces CH_CLEANUP(unit_spaces_deinit) own = { 0 };
    if (!is_cplusplus(&unit->whole))
        return NULL;
    follow_origin(die);
    const struct unit_spaces *spaces = spaces_of(index, unit, die, &own);
    if (spaces == NULL ||
        unit_spaces_qualify(spaces, dwarf_dieoffset(die), name, &qualified) != CH_OK ||
        !text_ok(&qualified))
        return NULL;
    return strdup(qualified.bytes);
}

static struct unit_site read_site(struct unit_index *index, struct unit *unit,
                                  const struct unit_scope *scope)
{
    struct unit_site site = { 0 };
    Dwarf_Die die;
    if (dwarf_offdie(unit->scopes.dwarf, scope->die_offset, &die) == NULL)
        return site;
    site.raw_name = linker_name(&die);
    if (site.raw_name != NULL) {
        site.name = demangle_name(site.raw_name);
    } else {
        Dwarf_Die origin = die;
        site.raw_name = string_attribute(&die, DW_AT_name);
        site.of_source = unit->mangles;
        if (site.raw_name != NULL)
            site.name = qualified_name(index, unit, &origin, site.raw_name);
    }
    if (!scope->inlined)
        return site;
    need_lines(index, unit);
    // In clang's DWARF 4, file numbers of a split unit refer to the skeleton's table.
    struct line_table *files =
        unit->split_files.files.count != 0 ? &unit->split_files : &unit->lines;
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, DW_AT_call_file, &attribute) != NULL) {
        uint32_t number = number_attribute(&die, DW_AT_call_file);
        site.call_file = line_table_file(files, number);
        site.call_file_md5 = line_table_md5(files, number);
    }
    site.call_line = number_attribute(&die, DW_AT_call_line);
    site.call_column = number_attribute(&die, DW_AT_call_column);
    return site;
}

const struct unit_site *unit_site_of(struct unit_index *index, struct unit *unit,
                                     uint32_t scope)
{
    struct unit_scope *at = &unit->scopes.scopes[scope];
    if (at->site != 0)
        return &unit->sites[at->site - 1];
    if (!array_reserve(&unit->sites, &unit->site_capacity, unit->site_count,
                       sizeof(unit->sites[0])))
        return NULL;
    unit->sites[unit->site_count++] = read_site(index, unit, at);
    at->site = (uint32_t)unit->site_count;
    return &unit->sites[at->site - 1];
}

void unit_function_start(const struct unit *unit, uint32_t scope, uint64_t vaddr,
                         struct unit_function *out)
{
    Dwarf_Die die;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    ptrdiff_t at = 0;
    uint64_t die_offset = unit->scopes.scopes[scope].die_offset;
    *out = (struct unit_function){ .entry = vaddr, .start = vaddr };
    if (dwarf_offdie(unit->scopes.dwarf, die_offset, &die) == NULL)
        return;
    for (int i = 0; i < FUNCTION_PARTS_MAX; i++) {
        at = dwarf_ranges(&die, at, &base, &low, &high);
        if (at <= 0)
            break;
        if (i == 0)
            out->entry = low;
        if (vaddr >= low && vaddr < high)
            out->start = low;
    }
}

const struct line_row *unit_line(struct unit_index *index, struct unit *unit,
                                 uint64_t vaddr)
{
    need_lines(index, unit);
    return line_table_find(&unit->lines, vaddr);
}

static enum ch_status add_unit_starts(const struct address_map *map,
                                      struct address_list *out)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < map->segment_count; i++)
        status = address_list_add(out, map->starts[i]);
    return status;
}

static enum ch_status unit_edges(struct unit_index *index, struct unit *unit,
                                 struct address_list *out)
{
    open_unit(index, unit);
    need_lines(index, unit);
    if (unit->halved)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = add_unit_starts(&unit->scopes.map, out);
    if (status == CH_OK)
        status = add_unit_starts(&unit->lines.map, out);
    for (size_t i = 0; status == CH_OK && i < unit->lines.row_count; i++)
        status = address_list_add(out, unit->lines.rows[i].address);
    return status;
}

enum ch_status unit_index_edges(struct unit_index *index, struct address_list *out)
{
    enum ch_status status = need_stated(index);
    if (status == CH_OK)
        status = add_unit_starts(&index->listed, out);
    if (status == CH_OK)
        status = add_unit_starts(&index->stated, out);
    for (size_t i = 0; status == CH_OK && i < index->count; i++)
        status = unit_edges(index, &index->units[i], out);
    return status;
}
