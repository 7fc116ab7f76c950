// SPDX-License-Identifier: Apache-2.0
//
// What each main of ours calls first: for its stack, its standard files and its heap.
//
// Our programs inherit the limit of the stack (RLIMIT_STACK) of the program that they
// watch or report, and may be forbidden to raise it.
#pragma once
#include <stddef.h>

// ample_stack_run returns run(argc, argv). Under a limit that run may exceed, it runs
// on a mapping in place of the process's stack.
int ample_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

// The parent process may have closed standard input, output or error. The next file or
// socket to be opened would then become, say, standard error and receive messages meant
// for people.

// standard_files_hold fills the closed ones with descriptors opened for the opposite
// direction, so that using one still fails. They are close-on-exec.
void standard_files_hold(void);

// A heap for a program that is about to allocate many megabytes of small pieces.
//
// The kernel supplies a heap page by page, and that takes longer than what the program
// does with them: 10 ms and more for 16 MB, and again after each fork. With pages of
// 2 MB it takes less than one (docs/performance.md). Without glibc's malloc, or where
// the kernel has no such pages, nothing changes.

// large_heap_expect prepares for bytes more of allocations, if that is worth it. It is
// called once, before the program has threads.
void large_heap_expect(size_t bytes);
