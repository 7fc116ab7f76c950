// SPDX-License-Identifier: Apache-2.0
//
// The bounds of a Go runtime's code. Go turns a fault in its own code into a panic that
// the program may recover from. For any other fault it prints a dump and ends the
// process by a system call that we do not see, so such a fault is reported before Go is
// asked.
#pragma once
#include <stdint.h>

// go_text_note checks whether handler is a Go runtime's and, if so, records the bounds
// of its code (crash_state.runtime_text).
void go_text_note(uintptr_t handler);
