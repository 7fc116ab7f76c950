// SPDX-License-Identifier: Apache-2.0
//
// The part of an object that is so many bytes from its beginning, as the source calls
// it: `->next`, `.corners[2].x`.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "symbolizer/types/type_table.h"

// An argument_part is bytes of an object of the type, at offset. It becomes the type of
// the member or element that they are. in_union: members of a union overlap there.
struct argument_part {
    uint32_t type;
    uint64_t offset;
    uint64_t bytes;
    bool in_union;
};

// argument_path_append appends the way to exactly these bytes, and sets part->type.
// first is what stands before the first member ("." or "->"). False: the object has no
// such part, or several, as a union does.
bool argument_path_append(const struct type_table *table, struct argument_part *part,
                          const char *first, struct text *out);

// argument_path_as_written makes an expression what the source has, where it names what
// compilers and the C++ library keep: `a` of `__closure->__a` or `frame_ptr->a`,
// `owner` of `owner._M_t._M_t._M_head_impl`, `list[3]` of `list._M_impl._M_start[3]`.
void argument_path_as_written(struct text *expression);
