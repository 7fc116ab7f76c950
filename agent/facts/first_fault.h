// SPDX-License-Identifier: Apache-2.0
//
// The first fault: when one of the program's handlers raises a signal, the bug is not
// where it raises it. The fault that the handler was called for is on its stack, in the
// frame that the kernel pushed: with its siginfo, and the registers at the fault.
//
// This works for anything that is held: a process, a core file, a record. Nothing on
// the stack is believed unless it agrees with what the unwinder found.
#pragma once
#include <stdbool.h>

#include "agent/live/capture.h"

// first_fault_find makes the outermost fault on the crashed thread's stack the reported
// crash (capture->crash); what the capture had as the crash becomes what followed it.
// False: the stack has no such frame, and nothing changes.
bool first_fault_find(struct capture *capture, struct unwind_space *space);
