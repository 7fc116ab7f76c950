// SPDX-License-Identifier: Apache-2.0
//
// The name of a function that code calls: what it returned is named by it, where no
// variable has that.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "symbolizer/arguments/argument_image.h"

// argument_returned_name appends the name of the function that begins at vaddr, or to
// which the stub of a procedure linkage table there leads. False: it has none, or is
// one that compilers call and sources do not.
bool argument_returned_name(struct argument_image *image, uint64_t vaddr,
                            struct text *out);
