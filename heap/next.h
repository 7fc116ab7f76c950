// SPDX-License-Identifier: Apache-2.0
//
// The allocator that comes after this library: the C library's, or one that was
// preloaded or linked.
//
// Each function is found when it is first called, or at the start. Until then its
// pointer leads to a function that looks for it, so that a call tests nothing.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/heap_pool.h"

// NEXT_FUNCTIONS(ROW) has ROW(member, symbol, result, parameters, arguments, otherwise)
// for each: what it returns where the function is in no library. The rows of operators,
// NEXT_NEWS, have their family and least alignment, too.
// clang-format off
#define NEXT_NEWS(ROW) \
    ROW(new, "_Znwm", void *, (size_t size), (size), or_throw(next.malloc(size), "_Znwm", size, 0), HEAP_BY_NEW, POOL_ALIGNMENT) \
    ROW(new_array, "_Znam", void *, (size_t size), (size), or_throw(next.malloc(size), "_Znam", size, 0), HEAP_BY_NEW_ARRAY, POOL_ALIGNMENT) \
    ROW(new_quiet, "_ZnwmRKSt9nothrow_t", void *, (size_t size, const void *quiet), (size, quiet), next.malloc(size), HEAP_BY_NEW, POOL_ALIGNMENT) \
    ROW(new_array_quiet, "_ZnamRKSt9nothrow_t", void *, (size_t size, const void *quiet), (size, quiet), next.malloc(size), HEAP_BY_NEW_ARRAY, POOL_ALIGNMENT) \
    ROW(new_aligned, "_ZnwmSt11align_val_t", void *, (size_t size, size_t alignment), (size, alignment), or_throw(other_memalign(alignment, size), "_ZnwmSt11align_val_t", size, alignment), HEAP_BY_NEW, LEAST(alignment)) \
    ROW(new_array_aligned, "_ZnamSt11align_val_t", void *, (size_t size, size_t alignment), (size, alignment), or_throw(other_memalign(alignment, size), "_ZnamSt11align_val_t", size, alignment), HEAP_BY_NEW_ARRAY, LEAST(alignment)) \
    ROW(new_aligned_quiet, "_ZnwmSt11align_val_tRKSt9nothrow_t", void *, (size_t size, size_t alignment, const void *quiet), (size, alignment, quiet), other_memalign(alignment, size), HEAP_BY_NEW, LEAST(alignment)) \
    ROW(new_array_aligned_quiet, "_ZnamSt11align_val_tRKSt9nothrow_t", void *, (size_t size, size_t alignment, const void *quiet), (size, alignment, quiet), other_memalign(alignment, size), HEAP_BY_NEW_ARRAY, LEAST(alignment))

#define NEXT_FUNCTIONS(ROW) \
    ROW(malloc, "malloc", void *, (size_t size), (size), NULL) \
    ROW(calloc, "calloc", void *, (size_t count, size_t size), (count, size), NULL) \
    ROW(realloc, "realloc", void *, (void *block, size_t size), (block, size), NULL) \
    ROW(posix_memalign, "posix_memalign", int, (void **out, size_t alignment, size_t size), (out, alignment, size), ENOMEM) \
    ROW(aligned_alloc, "aligned_alloc", void *, (size_t alignment, size_t size), (alignment, size), other_memalign(alignment, size)) \
    ROW(memalign, "memalign", void *, (size_t alignment, size_t size), (alignment, size), other_memalign(alignment, size)) \
    ROW(valloc, "valloc", void *, (size_t size), (size), other_page_allocation(size)) \
    ROW(pvalloc, "pvalloc", void *, (size_t size), (size), other_pvalloc(size)) \
    ROW(usable_size, "malloc_usable_size", size_t, (void *block), (block), 0) \
    ROW(name_thread, "pthread_setname_np", int, (pthread_t thread, const char *name), (thread, name), ENOSYS) \
    ROW(prctl, "prctl", int, (int option, unsigned long first, unsigned long second, unsigned long third, unsigned long fourth), (option, first, second, third, fourth), -1) \
    ROW(dlopen, "dlopen", void *, (const char *file, int mode), (file, mode), NULL) \
    NEXT_NEWS(ROW) \
    ROW(dlclose, "dlclose", int, (void *handle), (handle), 0)

// The same for the functions that free, which return nothing.
#define NEXT_FREES(ROW) \
    ROW(free, "free", HEAP_BY_MALLOC, (void *block), (block)) \
    ROW(free_sized, "free_sized", HEAP_BY_MALLOC, (void *block, size_t size), (block, size)) \
    ROW(free_aligned_sized, "free_aligned_sized", HEAP_BY_MALLOC, (void *block, size_t alignment, size_t size), (block, alignment, size)) \
    ROW(delete, "_ZdlPv", HEAP_BY_NEW, (void *block), (block)) \
    ROW(delete_array, "_ZdaPv", HEAP_BY_NEW_ARRAY, (void *block), (block)) \
    ROW(delete_sized, "_ZdlPvm", HEAP_BY_NEW, (void *block, size_t size), (block, size)) \
    ROW(delete_array_sized, "_ZdaPvm", HEAP_BY_NEW_ARRAY, (void *block, size_t size), (block, size)) \
    ROW(delete_quiet, "_ZdlPvRKSt9nothrow_t", HEAP_BY_NEW, (void *block, const void *quiet), (block, quiet)) \
    ROW(delete_array_quiet, "_ZdaPvRKSt9nothrow_t", HEAP_BY_NEW_ARRAY, (void *block, const void *quiet), (block, quiet)) \
    ROW(delete_aligned, "_ZdlPvSt11align_val_t", HEAP_BY_NEW, (void *block, size_t alignment), (block, alignment)) \
    ROW(delete_array_aligned, "_ZdaPvSt11align_val_t", HEAP_BY_NEW_ARRAY, (void *block, size_t alignment), (block, alignment)) \
    ROW(delete_sized_aligned, "_ZdlPvmSt11align_val_t", HEAP_BY_NEW, (void *block, size_t size, size_t alignment), (block, size, alignment)) \
    ROW(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", HEAP_BY_NEW_ARRAY, (void *block, size_t size, size_t alignment), (block, size, alignment)) \
    ROW(delete_aligned_quiet, "_ZdlPvSt11align_val_tRKSt9nothrow_t", HEAP_BY_NEW, (void *block, size_t alignment, const void *quiet), (block, alignment, quiet)) \
    ROW(delete_array_aligned_quiet, "_ZdaPvSt11align_val_tRKSt9nothrow_t", HEAP_BY_NEW_ARRAY, (void *block, size_t alignment, const void *quiet), (block, alignment, quiet))
// clang-format on

#define NEXT_MEMBER(member, symbol, result, parameters, ...) result(*member) parameters;
#define NEXT_FREE_MEMBER(member, symbol, origin, parameters, arguments)                \
    void(*member) parameters;

struct next {
    NEXT_FUNCTIONS(NEXT_MEMBER)
    NEXT_FREES(NEXT_FREE_MEMBER)
};

extern struct next next __attribute__((visibility("hidden")));

// How often an operator new of the C++ runtime leads into another function of ours: 1
// if the runtime calls malloc, 0 if the allocator has operators of its own. It is added
// to the countdown before such an operator is called, so that each allocation counts
// once, and is sampled as what the program called.
extern int32_t next_counts_again __attribute__((visibility("hidden")));

// The same of calloc, which calls malloc in musl.
extern int32_t next_calloc_counts_again __attribute__((visibility("hidden")));

// next_find_all finds all functions, so that later calls of dlsym, which would disturb
// the program's dlerror, are rare.
void next_find_all(void);

// next_is_preceded returns true if the program's malloc is not ours: it is linked into
// the program, or was preloaded before this library.
bool next_is_preceded(void);

// next_is_second returns true if an instance of this library that was loaded before has
// the program's allocations: one of both is linked, the other preloaded.
bool next_is_second(void);

// next_operator_of is the family of the operator that pc is in, if it is one of the C++
// runtime's operators new, else otherwise.
enum heap_origin next_operator_of(const void *pc, enum heap_origin otherwise);
