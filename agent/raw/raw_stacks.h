// SPDX-License-Identifier: Apache-2.0
//
// The stacks of a raw report, each written once: threads that wait in one place have
// equal stacks, and stacks share most of their places. Threads refer to stacks by
// number, stacks to places (report/file/report_shape.h); both tables are written after
// the last thread.
//
// A thousand threads cost one hash each, and a line of text for each stack that differs
// from all before.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/json/json_writer.h"
#include "unwind/backtrace_limit.h"
#include "unwind/unwind.h"

// A raw_place is an address as one kind of frame, found with one trust.
struct raw_place {
    uint64_t address;
    enum unwind_kind kind;
    enum unwind_trust trust;
    size_t image;    // number in the report; SIZE_MAX: none
    uint64_t offset; // of address from the image's base
    uint32_t group;  // of interpreted frames that run there; 0: none
};

struct raw_stack {
    size_t first; // index of its first element
    size_t count;
    uint64_t omitted; // frames that its RAW_OMITTED element stands for
    enum unwind_end end;
};

// A raw_index finds a number by a hash: an open-addressing table, at most half full.
struct raw_index {
    struct raw_index_slot {
        uint64_t hash;
        uint32_t number; // 1 + number; 0: free slot
    } * slots;
    size_t size;
    size_t used;
};

// A raw_stacks_image_fn fills in the image and the offset of a new place.
typedef void raw_stacks_image_fn(void *context, struct raw_place *place);

// A raw_stacks_group_fn writes the member `inlined` of a place with a group.
typedef void raw_stacks_group_fn(void *context, struct json_writer *w, uint32_t group);

// A raw_stacks_name_fn writes the members of a place's name, if it is known.
typedef void raw_stacks_name_fn(void *context, struct json_writer *w,
                                const struct raw_place *place);

struct raw_stacks {
    raw_stacks_image_fn *find_image;
    raw_stacks_group_fn *write_group; // NULL: no place has a group
    raw_stacks_name_fn *write_name;   // NULL: no place has a name
    void *context;                    // of these
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

// raw_stacks_add gives the number of the stack in backtrace, which ended as end says.
// groups has the group of each of its entries; NULL: none has one. CH_ERR_NO_MEMORY: it
// is not stored.
CH_CHECKED enum ch_status raw_stacks_add(struct raw_stacks *stacks,
                                         const struct backtrace_limit *backtrace,
                                         const uint32_t *groups, enum unwind_end end,
                                         size_t *out_number);

// raw_stacks_write writes the members `stacks` and `places`. CH_ERR_NO_MEMORY: at least
// one stack was written without its CBF.
CH_CHECKED enum ch_status raw_stacks_write(const struct raw_stacks *stacks,
                                           struct json_writer *w);

// raw_stacks_deinit frees what stacks owns; zeroed stacks with find_image are empty.
void raw_stacks_deinit(struct raw_stacks *stacks);
