// SPDX-License-Identifier: Apache-2.0
//
// C types from BTF, added to a table. As of CTF, a section is used completely or not at
// all.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "formats/debug/btf.h"
#include "formats/debug/ctf.h"
#include "symbolizer/types/type_table.h"

// A type_bytes is an ELF file with a section .BTF, or such a section alone.
struct type_bytes {
    const void *bytes; // NULL: there is none
    size_t size;
};

// type_btf_load adds the types, functions and variables of file, which may continue
// those of base. Both must outlive table. CH_ERR_NOT_FOUND: it has no BTF.
CH_CHECKED enum ch_status type_btf_load(struct type_table *table,
                                        const struct type_bytes *file,
                                        const struct type_bytes *base);

// type_btf_continues returns true if the BTF of file continues that of another.
bool type_btf_continues(const struct type_bytes *file);

// type_btf_load_dicts adds what version 4 of CTF has: count dictionaries, of which the
// first may be continued by the others. They must outlive table. outside is the ELF
// file's symbol table that they refer to.
CH_CHECKED enum ch_status type_btf_load_dicts(struct type_table *table,
                                              const struct btf *dicts, size_t count,
                                              const struct ctf_outside *outside);
