// SPDX-License-Identifier: Apache-2.0
//
// The functions that stand before the allocator's: malloc's family, C++'s operators by
// their symbols, and dlclose.
//
// An allocation that is not sampled costs a decrement and a branch, and a free a
// comparison with the pool's bounds; then the next allocator's function is jumped to.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "heap/event.h"
#include "heap/image.h"
#include "heap/live.h"
#include "heap/next.h"
#include "heap/pool.h"
#include "heap/sample.h"
#include "heap/walk.h"

#define EXPORT __attribute__((visibility("default"), used))
#define CALLER __builtin_return_address(0)

#define LEAST(alignment) ((alignment) > POOL_ALIGNMENT ? (alignment) : POOL_ALIGNMENT)

#define COLD static __attribute__((noinline, cold))

// malloc_due, as the others of that name, is jumped to where an allocation is due. So
// the path of all others needs no stack frame.
COLD void *malloc_due(size_t size, const void *caller)
{
    void *block = sample_allocate(size, POOL_ALIGNMENT, HEAP_BY_MALLOC, caller);
    return block != NULL ? block
                         : sample_keep(next.malloc(size), size, HEAP_BY_MALLOC, caller);
}

EXPORT void *malloc(size_t size)
{
    return sample_is_due() ? malloc_due(size, CALLER) : next.malloc(size);
}

COLD void *calloc_due(size_t count, size_t size, const void *caller)
{
    size_t all;
    void *block = NULL;
    if (!__builtin_mul_overflow(count, size, &all))
        block = sample_allocate(all, POOL_ALIGNMENT, HEAP_BY_MALLOC, caller);
    if (block == NULL)
        sample_countdown += next_calloc_counts_again;
    return block != NULL
               ? block
               : sample_keep(next.calloc(count, size), all, HEAP_BY_MALLOC, caller);
}

EXPORT void *calloc(size_t nmemb, size_t size)
{
    if (sample_is_due())
        return calloc_due(nmemb, size, CALLER);
    sample_countdown += next_calloc_counts_again;
    return next.calloc(nmemb, size);
}

static bool is_power(size_t alignment)
{
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

static void *sample_aligned(size_t alignment, size_t size, enum heap_origin origin,
                            const void *caller)
{
    return is_power(alignment) ? sample_allocate(size, LEAST(alignment), origin, caller)
                               : NULL;
}

EXPORT int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    void *block = NULL;
    if (sample_is_due() && alignment % sizeof(void *) == 0)
        block = sample_aligned(alignment, size, HEAP_BY_MALLOC, CALLER);
    if (block != NULL) {
        *memptr = block;
        return 0;
    }
    int error = next.posix_memalign(memptr, alignment, size);
    (void)sample_keep(error == 0 ? *memptr : NULL, size, HEAP_BY_MALLOC, CALLER);
    return error;
}

static inline void *allocate_aligned(void *(*otherwise)(size_t, size_t),
                                     size_t alignment, size_t size, const void *caller)
{
    void *block = sample_is_due()
                      ? sample_aligned(alignment, size, HEAP_BY_MALLOC, caller)
                      : NULL;
    return block != NULL
               ? block
               : sample_keep(otherwise(alignment, size), size, HEAP_BY_MALLOC, caller);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return allocate_aligned(next.aligned_alloc, alignment, size, CALLER);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return allocate_aligned(next.memalign, alignment, size, CALLER);
}

// valloc's and pvalloc's blocks are not guarded: hardly any program has them.
EXPORT void *valloc(size_t size)
{
    return next.valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
    return next.pvalloc(size);
}

// move_to copies a block that realloc moves. size is the least of both.
static void *move_to(void *to, const void *from, size_t size)
{
    return to != NULL ? memcpy(to, from, size) : NULL;
}

// reallocate_guarded moves a block out of its slot, into another one if there is one.
static __attribute__((noinline)) void *reallocate_guarded(void *block, size_t size,
                                                          const void *caller)
{
    size_t kept = pool_size(block);
    if (size == 0) { // as glibc does
        pool_free(block, HEAP_BY_MALLOC, caller);
        return NULL;
    }
    void *moved = malloc_due(size, caller); // what is sampled stays sampled
    if (move_to(moved, block, kept < size ? kept : size) != NULL)
        pool_free(block, HEAP_BY_MALLOC, caller);
    return moved;
}

// reallocate_every moves a block into a slot, where each allocation is to be guarded.
static __attribute__((noinline)) void *reallocate_every(void *block, size_t size,
                                                        const void *caller)
{
    size_t kept = next.usable_size(block);
    void *moved = size != 0 && kept != 0
                      ? sample_allocate(size, POOL_ALIGNMENT, HEAP_BY_MALLOC, caller)
                      : NULL;
    if (move_to(moved, block, kept < size ? kept : size) == NULL)
        return next.realloc(block, size);
    next.free(block);
    return moved;
}

// reallocate_live moves the record of a block with it.
static __attribute__((noinline)) void *reallocate_live(void *block, size_t size,
                                                       const void *caller)
{
    size_t old_size;
    bool was_live = live_remove(block, &old_size);
    void *moved = next.realloc(block, size);
    if (was_live && moved != NULL)
        live_add(moved, size, HEAP_BY_MALLOC, caller);
    else if (was_live && size != 0)
        live_add(block, old_size, HEAP_BY_MALLOC, caller);
    return moved;
}

static inline void *reallocate(void *block, size_t size, const void *caller)
{
    if (block == NULL)
        return sample_is_due() ? malloc_due(size, caller) : next.malloc(size);
    if (__builtin_expect(pool_contains(block), 0))
        return reallocate_guarded(block, size, caller);
    if (__builtin_expect(crashhook_heap_state.mode == POOL_EVERY, 0))
        return reallocate_every(block, size, caller);
    if (live_may_contain(block))
        return reallocate_live(block, size, caller);
    return next.realloc(block, size);
}

EXPORT void *realloc(void *ptr, size_t size)
{
    return reallocate(ptr, size, CALLER);
}

EXPORT void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(nmemb, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return reallocate(ptr, all, CALLER);
}

EXPORT size_t malloc_usable_size(void *ptr)
{
    return ptr != NULL && pool_contains(ptr) ? pool_size(ptr) : next.usable_size(ptr);
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = next.name_thread(thread, name);
    if (error == 0 && pthread_equal(thread, pthread_self()))
        event_name_thread(name);
    return error;
}

// heap_prctl is prctl, which is declared with a variable number of arguments.
int heap_prctl(int option, unsigned long first, unsigned long second,
               unsigned long third, unsigned long fourth) __asm__("prctl");

EXPORT int heap_prctl(int option, unsigned long first, unsigned long second,
                      unsigned long third, unsigned long fourth)
{
    int result = next.prctl(option, first, second, third, fourth);
    if (option == PR_SET_NAME && result == 0)
        event_name_thread((const char *)first);
    return result;
}

// dlopen is jumped to where the C library finds images: it looks at its caller.
EXPORT void *dlopen(const char *file, int mode)
{
    if (image_has_finder())
        return next.dlopen(file, mode);
    void *handle = next.dlopen(file, mode);
    image_list();
    walk_forget(); // the library's constructors allocated while it was not listed
    return handle;
}

// dlclose may unload code, whose rules for frames are then invalid.
EXPORT int dlclose(void *handle)
{
    int result = next.dlclose(handle);
    walk_forget();
    return result;
}

// NEW defines an operator new by its symbol.
#define UNWRAP(...) __VA_ARGS__
#define NEW(function, symbol, result, parameters, arguments, otherwise, by, align)     \
    COLD void *function##_due(UNWRAP parameters, const void *caller)                   \
    {                                                                                  \
        void *block = sample_allocate(size, align, by, caller);                        \
        if (block != NULL)                                                             \
            return block;                                                              \
        sample_countdown += next_counts_again;                                         \
        return sample_keep(next.function arguments, size, by, caller);                 \
    }                                                                                  \
    void *heap_##function parameters __asm__(symbol);                                  \
    EXPORT void *heap_##function parameters                                            \
    {                                                                                  \
        if (sample_is_due())                                                           \
            return function##_due(UNWRAP arguments, CALLER);                           \
        sample_countdown += next_counts_again;                                         \
        return next.function arguments;                                                \
    }
NEXT_NEWS(NEW)

// FREE defines a function that frees, by its symbol. It jumps to the others, so a free
// needs no stack frame where nothing is sampled.
#define FREE(function, symbol, by, parameters, arguments)                              \
    COLD void function##_live parameters                                               \
    {                                                                                  \
        size_t live_size;                                                              \
        (void)live_remove(block, &live_size);                                          \
        next.function arguments;                                                       \
    }                                                                                  \
    void heap_##function parameters __asm__(symbol);                                   \
    EXPORT void heap_##function parameters                                             \
    {                                                                                  \
        if (__builtin_expect(pool_contains(block), 0)) {                               \
            pool_free(block, by, CALLER);                                              \
            return;                                                                    \
        }                                                                              \
        if (live_may_contain(block)) {                                                 \
            function##_live arguments;                                                 \
            return;                                                                    \
        }                                                                              \
        next.function arguments;                                                       \
    }
NEXT_FREES(FREE)
