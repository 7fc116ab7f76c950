// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Sanitizers would take a look at another frame's memory for a mistake.
#define UNCHECKED __attribute__((no_sanitize("address", "thread")))

// The bounds of the calling thread's stack; they stay the same while it lives.
struct stack_bounds {
    bool known;
    uint64_t low;
    uint64_t high;
};

static _Thread_local struct stack_bounds own_stack;

static void find_stack(struct stack_bounds *bounds)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    bounds->known = true;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        bounds->low = (uintptr_t)low;
        bounds->high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

void local_memory_use_stack(struct local_memory *memory, uint64_t sp)
{
    if (!own_stack.known)
        find_stack(&own_stack);
    *memory = (struct local_memory){ 0 };
    if (sp >= own_stack.low && sp < own_stack.high)
        *memory =
            (struct local_memory){ .stack_low = sp, .stack_high = own_stack.high };
}

UNCHECKED static void copy_stack(uint64_t address, unsigned char *to, size_t length)
{
    const volatile unsigned char *from =
        (const volatile unsigned char *)(uintptr_t)address;
    if (length == sizeof(uint64_t) && address % sizeof(uint64_t) == 0) {
        uint64_t word = *(const volatile uint64_t *)(uintptr_t)address;
        memcpy(to, &word, sizeof(word));
        return;
    }
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

static size_t read_local(void *source, uint64_t address, void *to, size_t length)
{
    const struct local_memory *memory = source;
    if (address >= memory->stack_low && address < memory->stack_high &&
        length <= memory->stack_high - address) {
        copy_stack(address, to, length);
        return length;
    }
    struct iovec local = { .iov_base = to, .iov_len = length };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
    ssize_t size = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return size > 0 ? (size_t)size : 0;
}

struct memory_reader local_memory_reader(struct local_memory *memory)
{
    return (struct memory_reader){ .read = read_local, .source = memory };
}
