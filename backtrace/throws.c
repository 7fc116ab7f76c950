// SPDX-License-Identifier: Apache-2.0
//
// libcrashhook-throws: stands before the C++ runtime's __cxa_throw and keeps the stack
// of each throw, where CRASHHOOK_THROWS is yes. Unwinding destroys that stack if some
// frame catches the exception, also if that one throws it again.
//
// It is preloaded, and needs no cooperation of the program. The exception is thrown as
// ever, whatever fails here.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crashhook/backtrace.h"
#include "shared/place_note.h"
#include "shared/throw_ring.h"

typedef void throw_function(void *object, void *type, void (*destroy)(void *));

// NOLINTNEXTLINE(readability-identifier-naming): the note refers to it by this name.
struct throw_state crashhook_throw_state;
_Static_assert(sizeof(struct throw_state) == THROW_STATE_BYTES, "the note tells it");
_Static_assert(PLACE_THROWS == 3, "the note tells it");
PLACE_NOTE(3, 263184, crashhook_throw_state);

static __thread struct throw_ring *throws_ring;
static __thread bool throws_busy; // a throw while a stack is being kept
static pthread_key_t throws_key;

// throws_give_back lets a new thread have the ring of one that ends. What it holds
// stays until then: an exception may outlive its thread.
static void throws_give_back(void *ring)
{
    throws_ring = NULL;
    __atomic_store_n(&((struct throw_ring *)ring)->taken, 0, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void throws_begin(void)
{
    const char *wanted = getenv("CRASHHOOK_THROWS");
    bool is_wanted = wanted != NULL && strcmp(wanted, "yes") == 0;
    crashhook_throw_state.enabled =
        is_wanted && pthread_key_create(&throws_key, throws_give_back) == 0;
}

// throws_take_ring gives the calling thread's ring, or NULL.
static struct throw_ring *throws_take_ring(void)
{
    for (size_t i = 0; throws_ring == NULL && i < THROW_RINGS; i++) {
        struct throw_ring *ring = &crashhook_throw_state.rings[i];
        uint32_t is_free = 0;
        if (!__atomic_compare_exchange_n(&ring->taken, &is_free, 1, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        throws_ring = ring;
        (void)pthread_setspecific(throws_key, ring);
    }
    if (throws_ring == NULL)
        __atomic_add_fetch(&crashhook_throw_state.missed, 1, __ATOMIC_RELAXED);
    return throws_ring;
}

// throws_keep_stack writes the next entry of the ring.
static void throws_keep_stack(struct throw_ring *ring, const void *object,
                              const struct crashhook_backtrace *stack)
{
    struct throw_entry *entry = &ring->entries[ring->next++ % THROW_ENTRIES];
    struct timespec now = { 0 };
    size_t size = 0;
    const void *cbf = crashhook_backtrace_cbf(stack, &size);
    __atomic_store_n(&entry->size, 0, __ATOMIC_RELEASE);
    if (cbf == NULL || size > sizeof(entry->cbf))
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    entry->object = (uint64_t)(uintptr_t)object;
    entry->time_ns =
        (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    entry->tid = (uint32_t)syscall(SYS_gettid);
    memcpy(entry->cbf, cbf, size);
    __atomic_store_n(&entry->size, (uint32_t)size, __ATOMIC_RELEASE);
}

// throws_note keeps the stack of the throw that is beginning. Forty frames fit into an
// entry, however far apart their addresses are.
__attribute__((noinline)) static void throws_note(const void *object)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct crashhook_backtrace *stack;
    struct throw_ring *ring = throws_take_ring();
    options.limit = 40;
    options.top = 8;
    options.offset = 2; // this function, and the one that stands before the runtime's
    if (ring == NULL || crashhook_backtrace_capture(&options, &stack) != 0)
        return;
    throws_keep_stack(ring, object, stack);
    crashhook_backtrace_destroy(stack);
}

CRASHHOOK_API throws_find_function crashhook_throws_find;

size_t crashhook_throws_find(const void *object, uint8_t cbf[THROW_CBF_BYTES])
{
    const struct throw_entry *found = NULL;
    for (size_t i = 0; i < THROW_RINGS * THROW_ENTRIES; i++) {
        const struct throw_entry *entry =
            &crashhook_throw_state.rings[i / THROW_ENTRIES].entries[i % THROW_ENTRIES];
        if (entry->object == (uint64_t)(uintptr_t)object &&
            __atomic_load_n(&entry->size, __ATOMIC_ACQUIRE) != 0 &&
            (found == NULL || entry->time_ns > found->time_ns))
            found = entry;
    }
    uint32_t size = found != NULL ? found->size : 0;
    if (size == 0 || size > THROW_CBF_BYTES)
        return 0;
    memcpy(cbf, found->cbf, size);
    // The thread that threw it may have thrown others meanwhile.
    bool is_same = __atomic_load_n(&found->size, __ATOMIC_ACQUIRE) == size &&
                   found->object == (uint64_t)(uintptr_t)object;
    return is_same ? size : 0;
}

// throws_find_next is the runtime's own function. A runtime that was loaded for a
// library alone is not among those that come next.
static throw_function *throws_find_next(void)
{
    static const char *const runtimes[] = { "libstdc++.so.6", "libc++abi.so.1" };
    void *found = dlsym(RTLD_NEXT, "__cxa_throw");
    for (size_t i = 0; found == NULL && i < sizeof(runtimes) / sizeof(runtimes[0]);
         i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        found = runtime != NULL ? dlsym(runtime, "__cxa_throw") : NULL;
    }
    throw_function *function;
    memcpy(&function, &found, sizeof(function));
    return function;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): it is the runtime's name.
CRASHHOOK_API void __cxa_throw(void *object, void *type, void (*destroy)(void *));

// NOLINTNEXTLINE(bugprone-reserved-identifier): it is the runtime's name.
void __cxa_throw(void *object, void *type, void (*destroy)(void *))
{
    static throw_function *next;
    throw_function *runtime = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
    if (crashhook_throw_state.enabled && !throws_busy) {
        throws_busy = true;
        throws_note(object);
        throws_busy = false;
    }
    if (runtime == NULL) {
        runtime = throws_find_next();
        __atomic_store_n(&next, runtime, __ATOMIC_RELEASE);
    }
    if (runtime == NULL)
        abort(); // nothing else could throw it either
    runtime(object, type, destroy);
    __builtin_unreachable();
}
