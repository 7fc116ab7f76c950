// SPDX-License-Identifier: Apache-2.0
//
// malloc for the agent built with musl. musl's own spreads small blocks over groups,
// each mapped when first needed and unmapped when last freed, and reads each before it
// writes there: of a small crash that was 45 of 136 page faults and 35 system calls, a
// tenth of the time in which the process was held. Only that build has this file.
//
// A small block has one of four sizes between each power of two and the next, and is
// from lists of freed ones or from the end of a chunk, so that few pages are touched. A
// large one has a mapping of its own with room to grow in place, as texts do; its pages
// cost nothing until they are touched. Some that were freed are kept for the next large
// ones: unmapping costs more than a held process should wait for. Every block begins
// with a check that a stray write would break: the agent then dies, and the handler
// leaves a record instead of a report.
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/system/populate.h"

enum {
    SMALLEST = 64,
    CLASSES = 41, // up to 64 KB
    SMALL_MOST = SMALLEST << (CLASSES - 1) / 4,
    CHUNK_BYTES = 256 << 10,
    GROWTH = 4, // the room of a large block is so many times the requested size
    KEPT = 8,   // freed large blocks
    HUGE_PAGE = 2 << 20,
    SMALL_CRASH_BYTES = 60 << 10, // what a small crash takes
};

// A heap_block precedes each block's bytes; next is of freed small ones.
struct heap_block {
    size_t room; // bytes after this
    uintptr_t check;
};

struct heap {
    char *at; // of the chunk in use, and its end; what is between was never used
    char *end;
    struct heap_block *freed[CLASSES];
    struct heap_block *kept[KEPT]; // NULL: no block
    bool locked;
};

static _Alignas(16) char first_chunk[CHUNK_BYTES];
static struct heap heap = { .at = first_chunk, .end = first_chunk + CHUNK_BYTES };

static void heap_lock(void)
{
    while (__atomic_test_and_set(&heap.locked, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void heap_unlock(void)
{
    __atomic_clear(&heap.locked, __ATOMIC_RELEASE);
}

static uintptr_t heap_check_of(const struct heap_block *block)
{
    return (uintptr_t)block ^ block->room ^ (uintptr_t)0x9e3779b97f4a7c15;
}

static void *heap_begin_block(struct heap_block *block, size_t room)
{
    block->room = room;
    block->check = heap_check_of(block);
    return block + 1;
}

// heap_block_of gives the block whose bytes begin there.
static struct heap_block *heap_block_of(void *bytes)
{
    struct heap_block *block = (struct heap_block *)bytes - 1;
    if (block->check != heap_check_of(block))
        __builtin_trap();
    return block;
}

// heap_next is where a freed block has the next one.
static struct heap_block **heap_next(struct heap_block *block)
{
    return (struct heap_block **)(void *)(block + 1);
}

// heap_class_size is the size of a class's blocks, a multiple of 16.
static size_t heap_class_size(unsigned class)
{
    return (size_t)(SMALLEST + SMALLEST / 4 * (class % 4)) << class / 4;
}

static unsigned heap_class_of(size_t total)
{
    unsigned class = 0;
    while (heap_class_size(class + 4) < total)
        class += 4;
    while (heap_class_size(class) < total)
        class ++;
    return class;
}

static void *heap_map(size_t size)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped != MAP_FAILED ? mapped : NULL;
}

// heap_take_small gives a block of a class; out_fresh: it is all zero.
static void *heap_take_small(unsigned class, bool *out_fresh)
{
    size_t size = heap_class_size(class);
    struct heap_block *block = heap.freed[class];
    *out_fresh = block == NULL;
    if (block != NULL) {
        heap.freed[class] = *heap_next(block);
        return block + 1;
    }
    if ((size_t)(heap.end - heap.at) < size) {
        char *chunk = heap_map(CHUNK_BYTES);
        if (chunk == NULL)
            return NULL;
        heap.at = chunk;
        heap.end = chunk + CHUNK_BYTES;
    }
    if (heap.at == first_chunk)
        populate(first_chunk, SMALL_CRASH_BYTES);
    block = (struct heap_block *)(void *)heap.at;
    heap.at += size;
    return heap_begin_block(block, size - sizeof(*block));
}

// heap_take_kept gives a freed large block. NULL: none has the room.
static void *heap_take_kept(size_t total)
{
    struct heap_block *found = NULL;
    heap_lock();
    for (size_t i = 0; i < KEPT && found == NULL; i++) {
        struct heap_block *block = heap.kept[i];
        if (block == NULL || block->room + sizeof(*block) < total)
            continue;
        found = block;
        heap.kept[i] = NULL;
    }
    heap_unlock();
    return found != NULL ? found + 1 : NULL;
}

// heap_keep_large keeps a freed large block. False: enough are kept.
static bool heap_keep_large(struct heap_block *block)
{
    bool keeps = false;
    heap_lock();
    for (size_t i = 0; i < KEPT && !keeps; i++) {
        keeps = heap.kept[i] == NULL;
        if (keeps)
            heap.kept[i] = block;
    }
    heap_unlock();
    return keeps;
}

static void *heap_take_large(size_t total)
{
    size_t roomy = total < SIZE_MAX / 2 / GROWTH ? total * GROWTH : total;
    struct heap_block *block = heap_map(roomy);
    if (block == NULL && roomy != total) {
        roomy = total;
        block = heap_map(roomy);
    }
    return block != NULL ? heap_begin_block(block, roomy - sizeof(*block)) : NULL;
}

// heap_take takes a block; used says whether one that holds old bytes will do as well.
static void *heap_take(size_t size, bool used, bool *out_fresh)
{
    size_t total = size + sizeof(struct heap_block);
    void *bytes = NULL;
    *out_fresh = true;
    if (total < size || total > PTRDIFF_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    if (total > SMALL_MOST) {
        bytes = used ? heap_take_kept(total) : NULL;
        return bytes != NULL ? bytes : heap_take_large(total);
    }
    heap_lock();
    bytes = heap_take_small(heap_class_of(total), out_fresh);
    heap_unlock();
    return bytes;
}

void *malloc(size_t size)
{
    bool fresh;
    return heap_take(size, true, &fresh);
}

void *calloc(size_t count, size_t size)
{
    bool fresh;
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    void *bytes = heap_take(all, false, &fresh);
    if (bytes != NULL && !fresh)
        memset(bytes, 0, all);
    return bytes;
}

void free(void *bytes)
{
    if (bytes == NULL)
        return;
    int kept = errno;
    struct heap_block *block = heap_block_of(bytes);
    size_t total = block->room + sizeof(*block);
    if (total > SMALL_MOST) {
        if (!heap_keep_large(block))
            (void)munmap(block, total);
    } else {
        unsigned class = heap_class_of(total);
        heap_lock();
        *heap_next(block) = heap.freed[class];
        heap.freed[class] = block;
        heap_unlock();
    }
    errno = kept;
}

// heap_move_large makes the mapping of a large block larger.
static void *heap_move_large(struct heap_block *block, size_t size)
{
    size_t total = block->room + sizeof(*block);
    size_t wanted = size < SIZE_MAX / 2 / GROWTH ? size * GROWTH : size;
    struct heap_block *moved = mremap(block, total, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) {
        wanted = size <= PTRDIFF_MAX ? size + sizeof(*block) : SIZE_MAX / 2;
        moved = mremap(block, total, wanted, MREMAP_MAYMOVE);
    }
    return moved != MAP_FAILED ? heap_begin_block(moved, wanted - sizeof(*moved))
                               : NULL;
}

void *realloc(void *bytes, size_t size)
{
    if (bytes == NULL)
        return malloc(size);
    struct heap_block *block = heap_block_of(bytes);
    bool large = block->room + sizeof(*block) > SMALL_MOST;
    // Many megabytes take the kernel less time in large pages.
    if (large && size >= HUGE_PAGE)
        (void)madvise(block, block->room + sizeof(*block), MADV_HUGEPAGE);
    if (size <= block->room)
        return bytes;
    if (large)
        return heap_move_large(block, size);
    void *moved = malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, bytes, block->room);
    free(bytes);
    return moved;
}
