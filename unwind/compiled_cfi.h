// SPDX-License-Identifier: Apache-2.0
//
// Call frame information of code that lies in no image: of what the target compiled
// while it ran. The sections are asked for when a walk first comes to such code.
//
// The target wrote them, and may have written anything: their entries, which bytes
// bound, are indexed up to a number for all.
#pragma once
#include "unwind/cfi_index.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

enum { COMPILED_CFI_ENTRIES = 1 << 17 }; // of all sections

struct compiled_cfi {
    unwind_sections_fn *find; // NULL: asked already, or there is none to ask
    void *context;
    struct cfi_processor processor;
    bool big_endian;
    bool narrow;
    struct cfi_index *indexes; // one for each section with entries
    size_t count;
};

void compiled_cfi_init(struct compiled_cfi *cfi, const struct unwind_arch *arch,
                       const struct memory_reader *memory);
void compiled_cfi_deinit(struct compiled_cfi *cfi);

// compiled_cfi_set_sections sets the function that is asked, once.
void compiled_cfi_set_sections(struct compiled_cfi *cfi, unwind_sections_fn *find,
                               void *context);

// compiled_cfi_find gives the rules at pc.
CH_CHECKED enum ch_status compiled_cfi_find(struct compiled_cfi *cfi, uint64_t pc,
                                            struct unwind_row *out);
