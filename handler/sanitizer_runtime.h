// SPDX-License-Identifier: Apache-2.0
//
// The runtime of a sanitizer that the program is built with. It is told of us by names
// that it exports; a program without one has none of them.
#pragma once

// sanitizer_start starts a runtime that has put its own functions before libc's, as far
// as string comparison, and cannot run them yet. It would start right after us.
void sanitizer_start(void);

// sanitizer_end_note has the runtime tell us before it ends the program: it prints its
// report in a handler of its own, and exits by a system call that is not seen. A
// program that asks for the same (__sanitizer_set_death_callback) takes our place.
void sanitizer_end_note(void);
