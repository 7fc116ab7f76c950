// SPDX-License-Identifier: Apache-2.0
//
// The stack that an exception was thrown with, as libcrashhook-throws keeps it in the
// program (shared/throw_ring.h). It is found by the address of the thrown object, in
// the ring of whichever thread threw it; the newest entry counts, as an address is used
// again after the exception that was there.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/capture.h"
#include "shared/throw_ring.h"

struct thrown_stack {
    uint8_t cbf[THROW_CBF_BYTES];
    size_t size; // 0: it is not known
    pid_t tid;   // the thread that threw
};

// thrown_stack_find looks for the stack of the exception with that object.
void thrown_stack_find(struct capture *capture, uint64_t object,
                       struct thrown_stack *out);

// thrown_stack_read looks for it in the state at address.
void thrown_stack_read(const struct memory_reader *reader, uint64_t state,
                       uint64_t object, struct thrown_stack *out);
