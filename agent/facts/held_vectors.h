// SPDX-License-Identifier: Apache-2.0
//
// The vector registers of a thread, copied for the free phase: floating-point variables
// are in them. Only x86-64's xmm0 to xmm15; no call preserves them, so a thread that
// sleeps in a system call has none that matter.
#pragma once
#include "agent/live/capture.h"

// held_vectors_add appends the thread's vector registers to the capture's held file, as
// far as they can be read: where the kernel has saved them for the handler, from a
// core, or from the thread itself.
void held_vectors_add(const struct capture *capture,
                      const struct stopped_thread *thread);
