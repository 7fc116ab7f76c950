// SPDX-License-Identifier: Apache-2.0
#include "base/system/large_heap.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__GLIBC__) && !CRASHHOOK_SANITIZED

enum { HUGE_PAGE = 2 << 20, MAPPED_ALONE = 32 << 20, HEAP_MOST = 256 << 20 };

void large_heap_expect(size_t bytes)
{
    if (bytes < HUGE_PAGE)
        return;
    size_t size = bytes < HEAP_MOST ? bytes : HEAP_MOST;
    size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    // malloc accepts that other code moves the break, and goes on from there.
    uintptr_t now = (uintptr_t)sbrk(0);
    uintptr_t begin = (now + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (sbrk((intptr_t)(begin - now)) != (void *)now)
        return;
    (void)mallopt(M_TOP_PAD, (int)size);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX); // it stays as large as it is
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE);
    // More than is left of the heap, so that it grows; volatile, or the compiler would
    // remove the pair.
    void *volatile first = malloc(HUGE_PAGE);
    free(first);
    // Should the heap have to grow again, it is by little: there may be a limit.
    (void)mallopt(M_TOP_PAD, HUGE_PAGE);
    if ((uintptr_t)sbrk(0) > begin)
        (void)madvise((void *)begin, (uintptr_t)sbrk(0) - begin, MADV_HUGEPAGE);
}

#else

void large_heap_expect(size_t bytes)
{
    (void)bytes;
}

#endif
