// SPDX-License-Identifier: Apache-2.0
//
// An arena is memory for the values of jansson that a thread makes between begin and
// end: freeing one of them costs nothing, and end frees the memory of all.
//
// A tree has two or three allocations for each value, so that malloc and free were a
// third of what a collector did with a report that arrives. Its tree is read, looked at
// and given up by one thread, which is what an arena needs: a value that was made with
// it must not be used after its end, and one that was made before must not be freed
// until then.
#pragma once
#include <jansson.h>
#include <stddef.h>

struct json_arena_block;

// json_arena is of a caller that zeroes it; the members are its own.
struct json_arena {
    struct json_arena_block *last; // the block that is filled, linked to those before
    char *next;                    // its bytes that are free
    size_t left;                   // and how many they are
};

// json_arena_install makes jansson ask the arenas for memory. It is called before the
// process makes its first value; without it values are made by malloc, arena or not.
void json_arena_install(void);

// json_arena_begin has the calling thread make its values in arena, the only one of the
// thread.
void json_arena_begin(struct json_arena *arena);

// json_arena_drop is json_decref for a value that is made in arena: it goes at the end
// anyway.
void json_arena_drop(const struct json_arena *arena, json_t *value);

// json_arena_end ends that, and frees the memory; it may be called twice.
void json_arena_end(struct json_arena *arena);
