// SPDX-License-Identifier: Apache-2.0
//
// The runtime of a sanitizer that the program is built with. It is reached by names
// that it exports; a program without one has none of them.
#pragma once
#pragma GCC visibility push(hidden)

// sanitizer_start initializes a runtime that interposes libc's functions, even string
// comparison, but cannot run them yet. It would otherwise start right after us.
void sanitizer_start(void);

// sanitizer_end_note has the runtime call us before it ends the program: it prints its
// report in its own signal handler, and exits by a system call that we do not see. A
// program that sets the same callback (__sanitizer_set_death_callback) replaces ours.
void sanitizer_end_note(void);

// sanitizer_note_other has a second runtime call end. The shared library alone has it.
__attribute__((weak, visibility("hidden"))) void
sanitizer_note_other(void (*end)(void));

#pragma GCC visibility pop
