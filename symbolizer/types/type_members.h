// SPDX-License-Identifier: Apache-2.0
//
// The members of a structure, including those of unnamed structures in it and of base
// classes, as the source accesses them: `session.inner`, whatever unnamed structure or
// base inner is in.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/types/type_table.h"

enum {
    TYPE_MEMBERS_DEPTH = 8,      // of nested unnamed structures and bases
    TYPE_MEMBERS_MAX = 1u << 20, // of one type, including those
};

struct type_members {
    const struct type_table *table;
    struct type_members_level {
        const struct type *type;
        uint32_t next;
        uint64_t offset_bits; // of the structure in the outermost one
    } levels[TYPE_MEMBERS_DEPTH];
    int depth;
    uint32_t visited;
};

struct type_member {
    const struct type_part *part;
    uint64_t offset_bits; // from the outermost structure; not of a virtual base
    int depth;            // how many unnamed structures and bases it is in
    bool opens;           // its members follow
    int closes;           // how many that opened ended before it
};

// type_members_init begins with the first member of type, a structure or union.
void type_members_init(struct type_members *members, const struct type_table *table,
                       const struct type *type);

// type_members_next gives the next member. It returns false when there are no more;
// closes is then the number of those that are still open.
bool type_members_next(struct type_members *members, struct type_member *out);
