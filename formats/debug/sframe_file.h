// SPDX-License-Identifier: Apache-2.0
//
// SFrame in ELF files: where the section is, and what its function starts mean there.
//
// A linked file has one section, whose starts are as formats/debug/sframe.h reads them.
// There are two exceptions. In relocatable objects a start is what its relocation says.
// Linkers that do not know the format concatenate several sections, whose starts are
// relative to their fields although no flag says so; that is accepted if every function
// then lies in executable code, and refused otherwise.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/debug/elf.h"
#include "formats/debug/sframe.h"

struct sframe_file {
    struct elf_view elf;
    struct cursor bytes; // of all sections
    uint64_t vaddr;
    bool relocatable;
    uint32_t relocation_count;
    struct cursor relocations; // of a relocatable object
    bool has_addends;
    struct elf_section symbols; // of a relocatable object
};

// An sframe_start is where a function starts, if that is known.
struct sframe_start {
    bool known;
    uint64_t vaddr;      // in an object, the offset in its section
    const char *section; // of an object; else NULL
};

// sframe_file_init finds the section of an ELF file, or else takes the bytes for a bare
// section at address 0. CH_ERR_NOT_FOUND: the file has none. bytes must outlive file.
CH_CHECKED enum ch_status sframe_file_init(struct sframe_file *file, const void *bytes,
                                           size_t size);

// sframe_file_next opens the section at *offset, which begins with 0, and moves *offset
// past it. CH_END: there are no more.
CH_CHECKED enum ch_status sframe_file_next(const struct sframe_file *file,
                                           size_t *offset, struct sframe_section *out);

// sframe_file_start finds where function starts, which is function index of section. In
// an object without a relocation for it, the start is not known.
void sframe_file_start(const struct sframe_file *file,
                       const struct sframe_section *section, uint32_t index,
                       const struct sframe_function *function,
                       struct sframe_start *out);
