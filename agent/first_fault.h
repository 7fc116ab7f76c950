// SPDX-License-Identifier: Apache-2.0
//
// The first fault: a handler of the program's that raises a signal is not where the bug
// is. The fault that it was called for stands on its stack, in the frame
// that the kernel has put there: with its siginfo, and the registers it came with.
//
// Works for whatever is held: a process, a core file, a record. Nothing of the stack is
// believed that does not agree with what the unwinder has found.
#pragma once
#include <stdbool.h>

#include "agent/capture.h"

// first_fault_find makes the outermost fault on the crashed thread's stack the crash
// that is told (capture->crash), and what the capture had for the crash what followed
// it. false: the stack has no such frame, and nothing changes.
bool first_fault_find(struct capture *capture, struct unwind_space *space);
