// SPDX-License-Identifier: Apache-2.0
//
// The C types of one file for a listing: all of them, from its CTF, or else its BTF, or
// else its DWARF.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/types/type_btf.h"
#include "symbolizer/types/type_table.h"

enum type_source { TYPE_FROM_EITHER, TYPE_FROM_CTF, TYPE_FROM_DWARF, TYPE_FROM_BTF };

struct type_file;

// type_file_open reads the types of the ELF file or bare section of CTF or BTF, which
// must outlive it. base is the file whose BTF is continued, if there is one. From
// DWARF, if name is not NULL, only the types of that name are guaranteed to be read.
// CH_ERR_NOT_FOUND: it has no types from the wanted source.
CH_CHECKED enum ch_status type_file_open(struct type_file **out,
                                         const struct type_bytes *bytes,
                                         const struct type_bytes *base,
                                         enum type_source wanted, const char *name);

// type_file_close frees file, which may be NULL.
void type_file_close(struct type_file *file);

// type_file_table gives the types.
const struct type_table *type_file_table(const struct type_file *file);

// type_file_source returns which source they were read from.
enum type_source type_file_source(const struct type_file *file);

// type_source_name gives "ctf", "btf" or "dwarf".
const char *type_source_name(enum type_source source);
