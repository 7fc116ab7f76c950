// SPDX-License-Identifier: Apache-2.0
//
// A thread's shadow stack: the processor's own copies of return addresses, which the
// program cannot overwrite (SHSTK of x86-64, GCS of AArch64).
//
// It has a word for each call that has not returned, the innermost at `next`. For a
// signal the kernel adds two: the address that the handler returns to and, further out,
// a token that no return accepts. The thread's first words are above all others; the
// stack ends with its mapping or, on AArch64, at a word of 0.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "unwind/unwind_arch.h"

struct shadow_stack {
    uint64_t next; // 0: the thread has none
    uint64_t end;  // of the mapping that next is in

    // The innermost return address that differs on the stack and is none there. It is
    // of the function with the code at `address`; 0: there is no difference.
    struct shadow_difference {
        uint64_t address;
        uint64_t expected;
        uint64_t found;
    } difference;
};

// shadow_stack_read gives the innermost word. CH_END: the stack ends here.
// CH_ERR_FAULT: it cannot be read.
CH_CHECKED enum ch_status shadow_stack_read(const struct shadow_stack *shadow,
                                            const struct unwind_arch *arch,
                                            const struct memory_reader *memory,
                                            uint64_t *out);

// shadow_stack_leave_signal moves past the token of a signal. False: next is none.
bool shadow_stack_leave_signal(struct shadow_stack *shadow,
                               const struct unwind_arch *arch,
                               const struct memory_reader *memory);

// shadow_stack_leave_handler moves from a signal handler, and what that has called, to
// the code that the signal interrupted. False: there is no token near.
bool shadow_stack_leave_handler(struct shadow_stack *shadow,
                                const struct unwind_arch *arch,
                                const struct memory_reader *memory);
