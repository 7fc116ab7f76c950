// SPDX-License-Identifier: Apache-2.0
//
// A heap for a program that is about to allocate many megabytes of small pieces.
//
// The kernel supplies a heap page by page, and that takes longer than what the program
// does with them: 10 ms and more for 16 MB, and again after each fork. With pages of
// 2 MB it takes less than one (docs/performance.md). Without glibc's malloc, or where
// the kernel has no such pages, nothing changes.
#pragma once
#include <stddef.h>

// large_heap_expect prepares for bytes more of allocations, if that is worth it. It is
// called once, before the program has threads.
void large_heap_expect(size_t bytes);
