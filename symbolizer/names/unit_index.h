// SPDX-License-Identifier: Apache-2.0
//
// A unit_index finds the compilation unit of an address in a debug file and keeps what
// was read of it: its scopes, its line table, the sites of scopes that were looked up.
//
// Units are found by .debug_aranges, if compilers wrote it, without reading any of
// them. If that has nothing for an address, the entries of the units that it does not
// mention are read, once, for their ranges. No unit is read beyond its first entry
// before one of its addresses is looked up. Units without ranges are indexed one after
// another if no other unit has the address.
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/address_map.h"
#include "symbolizer/names/line_table.h"
#include "symbolizer/names/symbol_table.h"

// The scopes of a unit are its functions and inlined calls, indexed by address when the
// first address of the unit is looked up. A lookup gives the innermost scope; its
// parents are the calls it was inlined through, and finally the function.
//
// Names and call sites are not read here: only scopes that are found by a lookup need
// them.

// UNIT_SCOPE_NONE is the parent of functions, and the result for addresses in no
// function.
#define UNIT_SCOPE_NONE ADDRESS_MAP_NONE

struct unit_scope {
    uint64_t die_offset; // as dwarf_offdie expects it
    uint32_t parent;
    uint32_t site : 31; // 1 + index of the owner's data on it; 0: none
    uint32_t inlined : 1;
};

struct unit_scopes {
    Dwarf *dwarf;    // of the unit: not the skeleton's if it is split
    bool refers_out; // as die_scan says
    struct unit_scope *scopes;
    size_t count;
    size_t capacity;
    struct address_map map;
};

// unit_scopes_part is which scopes are read.
enum unit_scopes_part {
    UNIT_SCOPES_ALL,
    UNIT_SCOPES_FUNCTIONS, // no inlined calls
    UNIT_SCOPES_OUTER,     // functions as DIE_SCAN_OUTER has them
};

// unit_scopes_read indexes unit. Ranges outside text, which linkers leave for functions
// that they dropped, are ignored. Of a damaged unit, what precedes the damage is kept.
CH_CHECKED enum ch_status unit_scopes_read(struct unit_scopes *out, Dwarf_Die *unit,
                                           const uint64_t text[2],
                                           enum unit_scopes_part part);

// unit_scopes_function gives the function that a scope is, or is inlined into;
// UNIT_SCOPE_NONE: none.
uint32_t unit_scopes_function(const struct unit_scopes *scopes, uint32_t scope);

// unit_scopes_deinit frees what scopes hold; zeroed ones are empty.
void unit_scopes_deinit(struct unit_scopes *scopes);

// The namespaces and classes of a unit that its functions are members of. They are the
// scope of functions that have no linker's name, which would include it: compilers give
// none to functions that only one file can call.
//
// A unit is read once, when the first such function of it is named. Functions without a
// scope, and classes inside of functions, are not listed.

// UNIT_SPACE_NONE is the parent of an outermost scope.
#define UNIT_SPACE_NONE UINT32_MAX

struct unit_space {
    uint64_t die_offset; // of its entry, which has its name
    uint32_t parent;
};

// A unit_member is a function in a scope.
struct unit_member {
    uint64_t die_offset;
    uint32_t space;
};

// unit_spaces; zeroed, it is empty.
struct unit_spaces {
    Dwarf *dwarf;
    struct unit_space *spaces;
    size_t count;
    size_t capacity;
    struct unit_member *members; // in the order of their offsets
    size_t member_count;
    size_t member_capacity;
};

// A unit_site is what is known of a scope that was looked up.
struct unit_site {
    const char *raw_name;  // NULL: the entry has no name
    bool of_source;        // raw_name is the source's name, not the linker's
    char *name;            // demangled, or with its scope; NULL: raw_name is the name
    const char *call_file; // where it was inlined; NULL: not known
    const uint8_t *call_file_md5; // of that file; NULL: not known
    uint32_t call_line;
    uint32_t call_column;
};

struct unit {
    uint64_t offset; // of its header, before die
    Dwarf_Die die;   // the skeleton's if the unit is split
    Dwarf_Die whole; // the entry with the functions: die, or the split unit's
    bool opened;     // scopes were read, or could not be
    bool lines_read;
    bool split;
    bool halved;  // a split unit whose file with the functions is missing
    bool mangles; // its language mangles names
    bool listed;  // .debug_aranges has its ranges
    struct unit_scopes scopes;
    struct unit_site *sites;
    size_t site_count;
    size_t site_capacity;
    struct line_table lines;
    struct line_table split_files; // the files that a split unit's own entries refer to
    bool spaces_read;
    struct unit_spaces spaces; // of its C++ functions
};

// A unit_index holds units in the order of their offsets.
struct unit_index {
    Dwarf *dwarf;
    uint64_t text[2]; // first and one past the last address of code
    bool functions_only;
    struct unit *units;
    size_t count;
    size_t capacity;
    struct address_map listed; // by .debug_aranges; owner: index of the unit
    struct address_map stated; // by entries of units that it does not mention
    bool stated_read;
    uint32_t *unranged; // units without ranges
    size_t unranged_count;
    size_t unranged_capacity;
};

// unit_index_init lists dwarf's units. text is the range of code addresses.
CH_CHECKED enum ch_status unit_index_init(struct unit_index *index, Dwarf *dwarf,
                                          const uint64_t text[2], bool functions_only);

// unit_index_deinit frees what index holds; a zeroed index is empty.
void unit_index_deinit(struct unit_index *index);

// unit_index_find gives the unit that contains vaddr, with its scopes read, or NULL.
struct unit *unit_index_find(struct unit_index *index, uint64_t vaddr);

// unit_site_of gives what is known of a scope of unit, NULL if out of memory. It is
// valid until the next call.
const struct unit_site *unit_site_of(struct unit_index *index, struct unit *unit,
                                     uint32_t scope);

// unit_index_edges adds every address at which the results may change to out; it reads
// all units. CH_ERR_UNSUPPORTED: the file of a split unit is missing.
CH_CHECKED enum ch_status unit_index_edges(struct unit_index *index,
                                           struct address_list *out);

// A unit_function is where a function begins: as a whole, and the part of it that
// contains an address, because compilers move unlikely code away.
struct unit_function {
    uint64_t entry;
    uint64_t start;
};

// unit_function_start gives where the function scope begins, or vaddr where it is not
// known.
void unit_function_start(const struct unit *unit, uint32_t scope, uint64_t vaddr,
                         struct unit_function *out);

// unit_line gives the row of the unit's line table at vaddr, or NULL. Its file is one
// of unit->lines.
const struct line_row *unit_line(struct unit_index *index, struct unit *unit,
                                 uint64_t vaddr);

// unit_files reads the files of the unit's line table, but no rows. The caller owns out
// (line_table_deinit), which is empty if they cannot be read.
void unit_files(const struct unit_index *index, struct unit *unit,
                struct line_table *out);
