// SPDX-License-Identifier: Apache-2.0
//
// A whole .eh_frame or .debug_frame in local bytes with its FDEs sorted by address, for
// sections that have no search table of their own.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "formats/debug/cfi.h"

struct cfi_index_entry {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // of the FDE in the section
};

struct cfi_index {
    struct cfi_section section;
    const uint8_t *bytes;
    size_t size;
    struct cfi_index_entry *entries; // by start
    size_t count;
    size_t capacity;
};

// cfi_index_init indexes the size bytes of the section at section->address; the bytes
// must outlive the index. Entries that cannot be read are left out.
CH_CHECKED enum ch_status cfi_index_init(struct cfi_index *index,
                                         const struct cfi_section *section,
                                         const void *bytes, size_t size);
void cfi_index_deinit(struct cfi_index *index);

// cfi_index_find gives the rules at pc.
CH_CHECKED enum ch_status cfi_index_find(const struct cfi_index *index,
                                         const struct cfi_processor *processor,
                                         uint64_t pc, struct unwind_row *out);
