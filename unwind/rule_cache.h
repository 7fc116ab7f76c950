// SPDX-License-Identifier: Apache-2.0
//
// Unwind rules by program counter, and the sources they come from.
//
// Finding a row costs searches and parsing; a walk meets the same PCs over and over. So
// the row of each PC, or that there is none, is kept: open addressing over indices into
// one pool of rows, both emptied when either is full.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/unwind_row.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

enum rule_source { RULE_SFRAME, RULE_CFI };

struct rule_cache;

// rule_cache_create makes an empty cache over count images, which must outlive it.
CH_CHECKED enum ch_status rule_cache_create(const struct unwind_arch *arch,
                                            const struct memory_reader *memory,
                                            const struct unwind_image *images,
                                            size_t count, struct rule_cache **out);
void rule_cache_destroy(struct rule_cache *cache);

// rule_cache_set_debug_frames has it ask for .debug_frame when it is wanted.
void rule_cache_set_debug_frames(struct rule_cache *cache, unwind_debug_frame_fn *find,
                                 void *context);

// rule_cache_find gives the row that source has for pc, good until the next call.
// CH_ERR_NOT_FOUND: it has none. CH_ERR_UNSUPPORTED: nor for the image that pc is in.
CH_CHECKED enum ch_status rule_cache_find(struct rule_cache *cache,
                                          enum rule_source source, uint64_t pc,
                                          const struct unwind_row **out);
