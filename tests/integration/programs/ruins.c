// SPDX-License-Identifier: Apache-2.0
//
// A library that programs of Python call by ctypes: it overwrites words of the process,
// those it may, and crashes.
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

int *volatile nowhere;

// ruin_and_crash writes pairs of an address and a word.
void ruin_and_crash(const uint64_t *pairs, size_t count);
void ruin_and_crash(const uint64_t *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iovec from = { (void *)(uintptr_t)&pairs[2 * i + 1], sizeof(*pairs) };
        struct iovec to = { (void *)(uintptr_t)pairs[2 * i], sizeof(*pairs) };
        ssize_t written = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
        (void)written;
    }
    *nowhere = 1; // crashes here
}
