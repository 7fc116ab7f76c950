// SPDX-License-Identifier: Apache-2.0
//
// CTF in files: the .ctf section of an ELF file, or such a section alone. It holds one
// dictionary or an archive: a shared dictionary, and one for each unit whose types
// conflict with those of others.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/ctf.h"
#include "formats/debug/elf.h"

// CTF_FILE_DICTS_MAX is the greatest number of dictionaries of an archive.
#define CTF_FILE_DICTS_MAX 65536u

struct ctf_file {
    struct elf_view elf;
    bool is_elf;
    struct cursor section;
    uint64_t count; // of dictionaries
    uint64_t names; // of an archive: position of its names
    uint64_t dicts; // of an archive: position of its dictionaries
    bool is_archive;
};

// A ctf_member is one dictionary of a file.
struct ctf_member {
    const char *name; // ".ctf" is the shared one
    struct cursor bytes;
};

// A ctf_order is how the dimensions of `int a[2][3]` are nested.
enum ctf_order {
    CTF_ORDER_UNKNOWN,
    CTF_ORDER_REVERSED, // an array of 3 of arrays of 2: up to gcc 13
    CTF_ORDER_OF_C,     // an array of 2 of arrays of 3: from gcc 14.1 on
};

// ctf_file_init finds CTF in an ELF file, or else takes the bytes for a bare section.
// bytes must outlive file. CH_ERR_NOT_FOUND: the ELF file has none. CH_ERR_MALFORMED:
// it is neither.
CH_CHECKED enum ch_status ctf_file_init(struct ctf_file *file, const void *bytes,
                                        size_t size);

// ctf_file_is_version_4 returns true if the first dictionary is BTF or version 4 of
// CTF, which is read as BTF is (btf.h).
bool ctf_file_is_version_4(const struct ctf_file *file);

// ctf_file_member gives dictionary index. CH_END: there are no more.
CH_CHECKED enum ch_status ctf_file_member(const struct ctf_file *file, uint64_t index,
                                          struct ctf_member *out);

// ctf_file_outside gives what dictionaries of file may refer to in the ELF file: its
// dynamic symbols if dynamic, else all its symbols.
void ctf_file_outside(const struct ctf_file *file, bool dynamic,
                      struct ctf_outside *out);

// ctf_file_order gives the order in which the compilers that file names in .comment
// write dimensions. CTF_ORDER_UNKNOWN: it names none, or compilers of both orders.
enum ctf_order ctf_file_order(const struct ctf_file *file);

// ctf_elf_order is the same of an ELF file, for BTF too, which gcc wrote in the same
// order. otherwise: the order where no gcc is named.
enum ctf_order ctf_elf_order(const struct elf_view *elf, enum ctf_order otherwise);
