// SPDX-License-Identifier: Apache-2.0
//
// Unwind rules by program counter, from the formats that provide them.
//
// Finding a row takes searches and parsing, and walks meet the same PCs over and over.
// So the row of each PC, or the fact that there is none, is kept in a hash table with
// open addressing; its entries index one pool of rows, and both are emptied when either
// is full.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/cfi.h"
#include "formats/debug/unwind_row.h"
#include "unwind/cfi_index.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

enum rule_source { RULE_SFRAME, RULE_CFI };

struct rule_cache;

// rule_cache_create makes an empty cache over count images; the images must outlive it.
CH_CHECKED enum ch_status rule_cache_create(const struct unwind_arch *arch,
                                            const struct memory_reader *memory,
                                            const struct unwind_image *images,
                                            size_t count, struct rule_cache **out);
void rule_cache_destroy(struct rule_cache *cache);

// rule_cache_set_debug_frames sets the function that is called for .debug_frame.
void rule_cache_set_debug_frames(struct rule_cache *cache, unwind_debug_frame_fn *find,
                                 void *context);

// rule_cache_set_sections sets the function that is called for the rules of code that
// is in no image.
void rule_cache_set_sections(struct rule_cache *cache, unwind_sections_fn *find,
                             void *context);

// rule_cache_has_sframe returns true if any image has SFrame.
bool rule_cache_has_sframe(const struct rule_cache *cache);

// rule_cache_find gives source's row for pc, valid until the next call.
// CH_ERR_NOT_FOUND: it has none for pc. CH_ERR_UNSUPPORTED: it has none for the whole
// image.
CH_CHECKED enum ch_status rule_cache_find(struct rule_cache *cache,
                                          enum rule_source source, uint64_t pc,
                                          const struct unwind_row **out);

// Call frame information of code that is in no image: of what the target compiled while
// it ran. The sections are queried when a walk first comes to such code.
//
// The target wrote them, and may have written anything: their entries, which bytes
// bound, are indexed up to a number for all.

enum { COMPILED_CFI_ENTRIES = 1 << 17 }; // of all sections

struct compiled_cfi {
    unwind_sections_fn *find; // NULL: called already, or there is none
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

// compiled_cfi_set_sections sets the function that is called, once.
void compiled_cfi_set_sections(struct compiled_cfi *cfi, unwind_sections_fn *find,
                               void *context);

// compiled_cfi_find gives the rules at pc.
CH_CHECKED enum ch_status compiled_cfi_find(struct compiled_cfi *cfi, uint64_t pc,
                                            struct unwind_row *out);

// rule_cache_processor is what call frame information has to know of an architecture.
struct cfi_processor rule_cache_processor(const struct unwind_arch *arch);
