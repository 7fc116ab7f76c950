// SPDX-License-Identifier: Apache-2.0
#include "handler/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

enum {
    STACK_BYTES = 64 * 1024,
    // What the handler, and an earlier one that it calls, need beside the registers.
    LEAST_ROOM = 16 * 1024,
    // AT_MINSIGSTKSZ where the headers are older than the kernel.
    AUX_SIGNAL_FRAME = 51,
};

static pthread_once_t stack_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;
static bool stack_key_made;

// frame_bytes is what the kernel pushes on delivery: 3.5 KiB with AVX-512, 11 with AMX.
static size_t frame_bytes(void)
{
    size_t bytes = getauxval(AUX_SIGNAL_FRAME);
    return bytes != 0 ? bytes : 2048;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t stack_bytes(void)
{
    size_t page = page_bytes();
    size_t wanted = frame_bytes() + LEAST_ROOM;
    if (wanted < STACK_BYTES)
        wanted = STACK_BYTES;
    return (wanted + page - 1) & ~(page - 1);
}

static bool has_large_enough(void)
{
    stack_t now;
    return sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0 &&
           now.ss_size >= frame_bytes() + LEAST_ROOM;
}

void *threads_stack_create(void)
{
    size_t guard = page_bytes();
    char *base = mmap(NULL, guard + stack_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (mprotect(base, guard, PROT_NONE) == 0)
        return base + guard;
    munmap(base, guard + stack_bytes());
    return NULL;
}

void threads_stack_destroy(void *stack)
{
    size_t guard = page_bytes();
    if (stack != NULL)
        munmap((char *)stack - guard, guard + stack_bytes());
}

// at_thread_end frees the stack, which the thread may have exchanged for its own.
static void at_thread_end(void *stack)
{
    const stack_t none = { .ss_flags = SS_DISABLE };
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
        (void)sigaltstack(&none, NULL);
    threads_stack_destroy(stack);
}

static void make_key(void)
{
    stack_key_made = pthread_key_create(&stack_key, at_thread_end) == 0;
}

// keep has the stack freed at the thread's end. false: that cannot be promised.
static bool keep(void *stack)
{
    return pthread_once(&stack_key_once, make_key) == 0 && stack_key_made &&
           pthread_setspecific(stack_key, stack) == 0;
}

void threads_adopt(void *stack)
{
    const stack_t wanted = { .ss_sp = stack, .ss_size = stack_bytes() };
    if (has_large_enough() || !keep(stack)) {
        threads_stack_destroy(stack);
        return;
    }
    (void)sigaltstack(&wanted, NULL);
}

int crashhook_thread_init(void)
{
    if (has_large_enough())
        return 0;
    void *stack = threads_stack_create();
    if (stack == NULL)
        return ENOMEM;
    threads_adopt(stack);
    return has_large_enough() ? 0 : ENOMEM;
}
