// SPDX-License-Identifier: Apache-2.0
//
// How a crashhook_symbolicated_backtrace is stored and filled: by symbolicate.c from
// debug files, by named_json.c from JSON.
//
// Frames point to symbols, and frames with the same address share theirs: deep
// recursion takes memory for each frame, but for its names only once. The symbols of
// debug files are copies whose strings belong to entries; those of JSON own theirs.
#pragma once
#include "backtrace/stored.h"
#include "crashhook/backtrace_symbols.h"

struct crashhook_symbolicated_backtrace {
    struct crashhook_backtrace *backtrace;
    struct crashhook_images *images;
    struct crashhook_symbolicated_frame *frames;
    size_t count;
    size_t capacity;
    struct named_entry **entries; // references
    size_t entry_count;
    struct crashhook_symbol *copies;   // of the entries' symbols
    struct crashhook_symbol **symbols; // owned
    size_t symbol_count;
    size_t symbol_capacity;
};

// named_create makes one without frames. It copies backtrace and takes a reference to
// images.
CH_CHECKED enum ch_status named_create(const struct crashhook_backtrace *backtrace,
                                       struct crashhook_images *images,
                                       struct crashhook_symbolicated_backtrace **out);

// named_add_frame appends a frame.
CH_CHECKED enum ch_status
named_add_frame(struct crashhook_symbolicated_backtrace *named,
                const struct crashhook_symbolicated_frame *frame);

// named_add_symbol transfers symbol to named; on failure it is destroyed.
CH_CHECKED enum ch_status
named_add_symbol(struct crashhook_symbolicated_backtrace *named,
                 struct crashhook_symbol *symbol);
