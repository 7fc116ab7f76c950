// SPDX-License-Identifier: Apache-2.0
//
// The interposed calls that end the program or execute another one (end_calls.c). User:
// thread_start.c.
#pragma once

// end_calls_find looks up libc's own functions, before there is a second thread: in the
// child of a vfork, a lookup would wait for a thread of the parent that loads a
// library.
__attribute__((visibility("hidden"))) void end_calls_find(void);
