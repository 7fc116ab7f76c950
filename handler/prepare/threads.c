// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/crash/crash_filter.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/next_call.h"

enum {
    STACK_BYTES = 64 * 1024,
    // What our handler, and an earlier one that it calls, need in addition to the
    // registers.
    LEAST_ROOM = 16 * 1024,
    // AT_MINSIGSTKSZ, for headers older than the kernel.
    AUX_SIGNAL_FRAME = 51,
    SPARE_STACKS = 16,
    DOUBLINGS_MAX = 4,
};

// A key_state is the progress of making the key. pthread's once-functions are not used:
// a sanitizer may interpose them, and a thread of its runtime comes here before the
// runtime knows the thread.
enum key_state { KEY_NONE, KEY_WANTED, KEY_MADE, KEY_REFUSED };

// spare_stacks are stacks of ended threads for new ones, so that a program that starts
// and ends threads all the time does not map and unmap memory each time. They are taken
// and put by single atomic operations: a thread that ends must not wait.
static void *spare_stacks[SPARE_STACKS];

// Stacks are mapped one, two, four, eight and then sixteen at a time, so that a program
// with few threads has few of them.
static uint8_t doublings;
_Static_assert((1 << DOUBLINGS_MAX) - 1 <= SPARE_STACKS, "all but one are kept");

bool threads_have_set;

static pthread_key_t stack_key;
static uint32_t stack_key_state;

// frame_bytes is the size of the kernel's signal frame: 3.5 KiB with AVX-512, 11 with
// AMX.
static size_t frame_bytes(void)
{
    size_t bytes = getauxval(AUX_SIGNAL_FRAME);
    return bytes != 0 ? bytes : 2048;
}

static size_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

static size_t stack_bytes(void)
{
    size_t page = page_bytes();
    size_t wanted = frame_bytes() + LEAST_ROOM;
    if (wanted < STACK_BYTES)
        wanted = STACK_BYTES;
    return (wanted + page - 1) & ~(page - 1);
}

static bool is_large_enough(const stack_t *stack)
{
    return (stack->ss_flags & SS_DISABLE) == 0 &&
           stack->ss_size >= frame_bytes() + LEAST_ROOM;
}

// kernel_altstack is the kernel's sigaltstack, called from libc's code (see actions.c).
static int kernel_altstack(const stack_t *stack, stack_t *out_old)
{
    return (int)syscall(SYS_sigaltstack, stack, out_old);
}

static bool has_large_enough(void)
{
    stack_t now;
    return kernel_altstack(NULL, &now) == 0 && is_large_enough(&now);
}

// take_spare_stack gives a stack of an ended thread, or NULL.
static void *take_spare_stack(void)
{
    for (size_t i = 0; i < SPARE_STACKS; i++) {
        void *stack = __atomic_load_n(&spare_stacks[i], __ATOMIC_RELAXED);
        if (stack != NULL)
            stack = __atomic_exchange_n(&spare_stacks[i], NULL, __ATOMIC_ACQUIRE);
        if (stack != NULL)
            return stack;
    }
    return NULL;
}

// put_spare_stack keeps the stack for another thread. False: enough are kept.
static bool put_spare_stack(void *stack)
{
    for (size_t i = 0; i < SPARE_STACKS; i++) {
        void *none = NULL;
        if (__atomic_load_n(&spare_stacks[i], __ATOMIC_RELAXED) == NULL &&
            __atomic_compare_exchange_n(&spare_stacks[i], &none, stack, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

// map_stacks maps stacks, keeps all but the lowest, and gives that. Its guard is a
// mapping, so that the kernel joins ours with no thread's stack below. There are none
// between the others: what runs there is ours, and needs little.
static void *map_stacks(size_t count)
{
    size_t guard = page_bytes();
    size_t bytes = stack_bytes();
    char *base = mmap(NULL, guard + count * bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    char *first = base + guard;
    char *end = first + count * bytes;
    char *at = sys_mprotect(base, guard, PROT_NONE) == 0 ? first + bytes : base;
    while (at > first && at != end && put_spare_stack(at))
        at += bytes;
    if (at != end)
        sys_munmap(at, (size_t)(end - at));
    if (at == base)
        return NULL;
    ((struct crash_own_stack *)first)->first = true;
    return first;
}

void *threads_stack_create(void)
{
    uint8_t now = __atomic_load_n(&doublings, __ATOMIC_RELAXED);
    if (!crash_may_call(CRASH_CALLS_STACK | CRASH_CALLS_MAP))
        return NULL;
    void *stack = take_spare_stack();
    if (stack != NULL)
        return stack;
    __atomic_store_n(&doublings, now + (now != DOUBLINGS_MAX), __ATOMIC_RELAXED);
    stack = map_stacks((size_t)1 << now);
    return stack != NULL ? stack : map_stacks(1);
}

void *threads_stack_end(void *stack)
{
    return (char *)stack + stack_bytes();
}

void threads_stack_destroy(void *stack)
{
    if (stack == NULL || put_spare_stack(stack))
        return;
    size_t guard = ((struct crash_own_stack *)stack)->first ? page_bytes() : 0;
    sys_munmap((char *)stack - guard, guard + stack_bytes());
}

// at_thread_end is the destructor of stack_key. It frees the stack in the last round of
// destructors, because those of the program may overflow the thread's stack in any. The
// thread may have replaced it by one of its own. A thread that ends in a signal handler
// still runs on it, and the kernel refuses to disable it: then it stays mapped, as
// where a filter refuses to.
static void at_thread_end(void *stack)
{
    const stack_t none = { .ss_flags = SS_DISABLE };
    struct crash_own_stack *own = stack;
    stack_t now;
    if (++own->rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
        pthread_setspecific(stack_key, stack) == 0)
        return;
    if (!crash_may_call(CRASH_CALLS_STACK) || kernel_altstack(&none, &now) != 0)
        return;
    if (now.ss_sp != stack && (now.ss_flags & SS_DISABLE) == 0)
        (void)kernel_altstack(&now, NULL);
    threads_stack_destroy(stack);
}

// has_thread_key makes the key the first time. False: there are not two keys left.
static bool has_thread_key(void)
{
    uint32_t none = KEY_NONE;
    if (__atomic_compare_exchange_n(&stack_key_state, &none, KEY_WANTED, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        // The last one that there is stays the program's.
        pthread_key_t last;
        bool made = pthread_key_create(&stack_key, at_thread_end) == 0;
        if (made && pthread_key_create(&last, NULL) == 0) {
            pthread_key_delete(last);
        } else if (made) {
            pthread_key_delete(stack_key);
            made = false;
        }
        __atomic_store_n(&stack_key_state, made ? KEY_MADE : KEY_REFUSED,
                         __ATOMIC_RELEASE);
        sys_futex_wake_all(&stack_key_state);
    }
    while (__atomic_load_n(&stack_key_state, __ATOMIC_ACQUIRE) == KEY_WANTED)
        sys_futex_wait(&stack_key_state, KEY_WANTED, UINT64_C(1000000000));
    return __atomic_load_n(&stack_key_state, __ATOMIC_ACQUIRE) == KEY_MADE;
}

bool threads_use(void *stack)
{
    const stack_t wanted = { .ss_sp = stack, .ss_size = stack_bytes() };
    stack_t before;
    crash_stack_bytes = wanted.ss_size;
    // Nearly no thread has a stack already, so asking first would be a call more. A
    // filter may have been set since the stack was mapped.
    if (!crash_may_call(CRASH_CALLS_STACK) || kernel_altstack(&wanted, &before) != 0)
        return false;
    if (is_large_enough(&before)) {
        (void)kernel_altstack(&before, NULL);
        return false;
    }
    crash_stack_mark(stack, &before);
    return true;
}

void threads_adopt(void *stack)
{
    // The key has the stack freed at the thread's end.
    if (has_thread_key() && pthread_setspecific(stack_key, stack) == 0) {
        if (threads_use(stack))
            return;
        (void)pthread_setspecific(stack_key, NULL);
    }
    threads_stack_destroy(stack);
}

size_t threads_first_bytes(void)
{
    return has_large_enough() ? 0 : stack_bytes();
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

// A new_stack is what the program sets as its alternate stack, as the kernel would
// report it.
static stack_t new_stack(const stack_t *wanted)
{
    const stack_t none = { .ss_flags = SS_DISABLE };
    stack_t stack = *wanted;
    bool disables = (stack.ss_flags & SS_DISABLE) != 0;
    stack.ss_flags &= ~SS_ONSTACK;
    return disables ? none : stack;
}

// sigaltstack sets and returns the program's stack. The kernel has ours all the same:
// the crash path moves handlers to theirs (crash_stack.c). A thread that was
// started unseen has none of ours, and gets one where theirs is smaller: it may have no
// room for a handler of the program and, when that aborts, for ours.
INTERPOSED int sigaltstack(const stack_t *restrict wanted, stack_t *restrict old)
{
    stack_t ours;
    if (kernel_altstack(NULL, &ours) != 0)
        return -1;
    struct crash_own_stack *own = crash_stack_own(&ours);
    if (own == NULL && crash_plan != NULL && wanted != NULL && wanted->ss_flags == 0 &&
        wanted->ss_size < STACK_BYTES && crashhook_thread_init() == 0 &&
        kernel_altstack(NULL, &ours) == 0)
        own = crash_stack_own(&ours);
    if (own == NULL)
        return kernel_altstack(wanted, old);
    stack_t before = own->theirs;
    bool used = before.ss_flags == 0 &&
                crash_stack_is_on(&before, (uintptr_t)__builtin_frame_address(0));
    before.ss_flags |= used ? SS_ONSTACK : 0;
    if (wanted != NULL && used) {
        errno = EPERM;
        return -1;
    }
    if (wanted != NULL) {
        threads_have_set = true;
        // The kernel says whether it is one.
        stack_t theirs = new_stack(wanted);
        if (kernel_altstack(wanted, NULL) != 0)
            return -1;
        own->theirs.ss_size = 0;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        own->theirs.ss_sp = theirs.ss_sp;
        own->theirs.ss_flags = theirs.ss_flags;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        own->theirs.ss_size = theirs.ss_size;
        ours.ss_flags = 0;
        (void)kernel_altstack(&ours, NULL);
    }
    if (old != NULL)
        *old = before;
    return 0;
}
