// SPDX-License-Identifier: Apache-2.0
//
// The stacks of a raw report, each said once: threads that wait in one place have the
// same stack, and stacks have most of their places in common. Threads refer to stacks
// by number, stacks to places (report/report_table.h), and both are written after the
// last thread.
//
// A thousand threads cost a hash of each stack, and a line of text for those that are
// unlike all before.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/json_writer.h"
#include "unwind/backtrace_limit.h"
#include "unwind/unwind.h"

// A place is an address as one kind of frame, found in one way.
struct raw_place {
    uint64_t address;
    enum unwind_kind kind;
    enum unwind_trust trust;
    size_t image;    // its number in the report; SIZE_MAX: none
    uint64_t offset; // of address from the image's base
};

struct raw_stack {
    size_t first; // its elements in the table's
    size_t count;
    uint64_t omitted; // frames that its element RAW_OMITTED stands for
    enum unwind_end end;
};

// An index finds a number by a hash: a table with free places, at most half full.
struct raw_index {
    struct raw_index_slot {
        uint64_t hash;
        uint32_t number; // plus one; 0: free
    } * slots;
    size_t size;
    size_t used;
};

struct raw_stacks {
    struct raw_place *places;
    size_t place_count;
    size_t place_capacity;
    struct raw_index place_index;
    struct raw_stack *stacks;
    size_t stack_count;
    size_t stack_capacity;
    struct raw_index stack_index;
    uint32_t *elements; // of all stacks: numbers of places, or RAW_OMITTED, RAW_CUT
    size_t element_count;
    size_t element_capacity;
};

// raw_stacks_image_fn fills the image and the offset of a new place.
typedef void raw_stacks_image_fn(void *context, struct raw_place *place);

// raw_stacks_add gives the number of the stack that backtrace holds and that ended so.
// CH_ERR_NO_MEMORY: it is not kept.
CH_CHECKED enum ch_status raw_stacks_add(struct raw_stacks *stacks,
                                         const struct backtrace_limit *backtrace,
                                         enum unwind_end end,
                                         raw_stacks_image_fn *find_image, void *context,
                                         size_t *out_number);

// raw_stacks_write writes the members `stacks` and `places`. CH_ERR_NO_MEMORY: of one
// stack or more there is no CBF.
CH_CHECKED enum ch_status raw_stacks_write(const struct raw_stacks *stacks,
                                           struct json_writer *w);

// raw_stacks_deinit frees what stacks holds; zeroed stacks are empty.
void raw_stacks_deinit(struct raw_stacks *stacks);
