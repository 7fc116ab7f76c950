// SPDX-License-Identifier: Apache-2.0
//
// A file of which only some parts are read, in memory where the whole would have its
// place. An ELF file's headers and one section can be viewed so without reading the
// rest, which for a program with debug information is hundreds of megabytes.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/debug/elf.h"

// A sparse_file is zeros where it was not loaded; zeroed, it is empty.
struct sparse_file {
    int fd; // the caller's
    uint8_t *bytes;
    size_t size;
};

// sparse_file_init reserves room for the regular file at fd, and loads its beginning,
// where program headers and notes are. CH_ERR_UNSUPPORTED: it is no regular file.
CH_CHECKED enum ch_status sparse_file_init(struct sparse_file *file, int fd);
void sparse_file_deinit(struct sparse_file *file);

// sparse_file_load reads size bytes at offset. CH_ERR_TRUNCATED: the file is shorter.
// CH_ERR_LIMIT: they are more than are ever read.
CH_CHECKED enum ch_status sparse_file_load(struct sparse_file *file, uint64_t offset,
                                           uint64_t size);

// sparse_file_view loads the section headers of an ELF file and their names.
CH_CHECKED enum ch_status sparse_file_view(struct sparse_file *file,
                                           struct elf_view *out);
