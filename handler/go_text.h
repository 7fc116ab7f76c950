// SPDX-License-Identifier: Apache-2.0
//
// Where the code of a Go runtime lies. Go turns a fault of its own code into a panic
// that the program may recover from, prints a dump for every other and then ends the
// process by a system call that nobody sees: such a fault is reported before Go is
// asked.
#pragma once
#include <stdint.h>

// go_text_note looks whether handler is that of a Go runtime and notes its code
// (crash_state.runtime_text).
void go_text_note(uintptr_t handler);
