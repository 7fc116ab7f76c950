// SPDX-License-Identifier: Apache-2.0
//
// The stack of a 32-bit program on x86-64. The unwinder's words have 8 bytes, so only
// frame pointers are followed: a function that keeps none ends the walk, and the report
// says that there was no rule. Registers are in the places of the wider ones: eax in
// that of rax.
#pragma once
#include "agent/capture.h"
#include "unwind/backtrace_limit.h"

// narrow_walk adds the frames of the thread with these registers to out, until out is
// full.
enum unwind_end narrow_walk(struct capture *capture,
                            const struct unwind_registers *registers,
                            struct backtrace_limit *out);

// narrow_register_name is the register's name; NULL: there is none at number.
const char *narrow_register_name(size_t number);
