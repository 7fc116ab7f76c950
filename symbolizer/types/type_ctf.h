// SPDX-License-Identifier: Apache-2.0
//
// C types from CTF: every dictionary of a file becomes part of one table, the units'
// own types beside the shared ones.
//
// A file is used completely or not at all: if a dictionary is damaged anywhere, nothing
// says which of the other types are right.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "formats/debug/btf.h"
#include "formats/debug/ctf_file.h"
#include "symbolizer/types/type_table.h"

// A type_ctf owns what the names of the table's types point into, other than the file.
struct type_ctf {
    struct ctf_file file;
    struct ctf_outside all;
    struct ctf_outside dynamic;
    struct ctf_dict *dicts;
    uint32_t *first_types; // index in the table of each dictionary's first type
    size_t *parents;       // index in dicts of each dictionary's parent
    size_t count;
    struct btf *version_4; // its dictionaries, instead of those above
    size_t version_4_count;
};

// type_ctf_load adds the types, functions and variables of the ELF file or bare section
// in bytes, which must outlive table and ctf. CH_ERR_NOT_FOUND: it has no CTF. ctf has
// to be unloaded after table, whatever is returned.
CH_CHECKED enum ch_status type_ctf_load(struct type_ctf *ctf, struct type_table *table,
                                        const void *bytes, size_t size);

// type_ctf_unload frees what ctf holds.
void type_ctf_unload(struct type_ctf *ctf);
