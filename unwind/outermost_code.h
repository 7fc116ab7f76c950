// SPDX-License-Identifier: Apache-2.0
//
// Code of x86 that nothing calls, so that a frame in it has no caller.
//
// It is recognized by its bytes: where the program starts, a halt, and how musl ends a
// thread. That none of them is there proves nothing.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_types.h"

// outermost_code is whether the code at pc, in image or in none (NULL), is where the
// kernel started the program, or what is called there cannot return.
bool outermost_code(const struct memory_reader *memory,
                    const struct unwind_image *image, uint64_t pc);
