// SPDX-License-Identifier: Apache-2.0
//
// The C types of one file, as a listing wants them: all of them, from the CTF in it or
// else from its DWARF.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/types/type_table.h"

enum type_source { TYPE_FROM_EITHER, TYPE_FROM_CTF, TYPE_FROM_DWARF };

struct type_file;

// type_file_open reads the types of the ELF file or bare .ctf section in bytes, which
// must outlive it. From DWARF, where name is not NULL, those of that name alone are
// sure to be there. CH_ERR_NOT_FOUND: it has none from where they are wanted.
CH_CHECKED enum ch_status type_file_open(struct type_file **out, const void *bytes,
                                         size_t size, enum type_source wanted,
                                         const char *name);

// type_file_close frees file; NULL is fine.
void type_file_close(struct type_file *file);

// type_file_table is what was read.
const struct type_table *type_file_table(const struct type_file *file);

// type_file_source says where it was read from.
enum type_source type_file_source(const struct type_file *file);
