// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// A tree of 20 KB of JSON takes three blocks. Blocks of large trees are larger.
enum { BLOCK_BYTES = 60 << 10, BLOCK_BYTES_MAX = 4 << 20 };

struct json_arena_block {
    struct json_arena_block *before;
    size_t size; // of bytes
    alignas(max_align_t) char bytes[];
};

static _Thread_local struct json_arena *arena_of_thread;

// arena_size rounds a size up, so that what follows is aligned.
static size_t arena_size(size_t size)
{
    const size_t mask = alignof(max_align_t) - 1;
    return (size + mask) & ~mask;
}

// add_arena_block adds a block with room for size bytes, of twice the last one's size.
static bool add_arena_block(struct json_arena *arena, size_t size)
{
    size_t bytes = arena->last != NULL ? 2 * arena->last->size : BLOCK_BYTES;
    bytes = bytes < BLOCK_BYTES_MAX ? bytes : BLOCK_BYTES_MAX;
    bytes = bytes > size ? bytes : size;
    bytes = arena_size(bytes);
    struct json_arena_block *block = malloc(sizeof(*block) + bytes);
    if (block == NULL)
        return false;
    *block = (struct json_arena_block){ .before = arena->last, .size = bytes };
    arena->last = block;
    arena->next = block->bytes;
    arena->left = bytes;
    return true;
}

// take_of_arena takes size bytes that are left.
static void *take_of_arena(struct json_arena *arena, size_t size)
{
    void *bytes = arena->next;
    size = arena_size(size);
    arena->next += size;
    arena->left -= size;
    return bytes;
}

// grow_arena is arena_malloc where the thread has no arena, or none that has room.
__attribute__((noinline)) static void *grow_arena(struct json_arena *arena, size_t size)
{
    if (arena == NULL)
        return malloc(size);
    if (size > SIZE_MAX / 2 || !add_arena_block(arena, size))
        return NULL;
    return take_of_arena(arena, size);
}

// arena_malloc is short, as a tree has thousands of values: what is seldom is done by a
// function of its own.
static void *arena_malloc(size_t size)
{
    struct json_arena *arena = arena_of_thread;
    if (arena == NULL || size > arena->left)
        return grow_arena(arena, size);
    return take_of_arena(arena, size);
}

static void arena_free(void *bytes)
{
    if (arena_of_thread == NULL)
        free(bytes);
}

void json_arena_install(void)
{
    json_set_alloc_funcs(arena_malloc, arena_free);
}

void json_arena_begin(struct json_arena *arena)
{
    arena_of_thread = arena;
}

void json_arena_drop(const struct json_arena *arena, json_t *value)
{
    if (arena->last == NULL) // or none was installed
        json_decref(value);
}

void json_arena_end(struct json_arena *arena)
{
    struct json_arena_block *block = arena->last;
    *arena = (struct json_arena){ 0 };
    arena_of_thread = NULL;
    while (block != NULL) {
        struct json_arena_block *before = block->before;
        free(block);
        block = before;
    }
}
