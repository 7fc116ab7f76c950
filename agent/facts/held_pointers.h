// SPDX-License-Identifier: Apache-2.0
//
// What a thread's registers and frames point to, copied for the free phase: the text of
// strings, and the objects that variables point to.
//
// No types are known here, so every word that is an address of data counts as a
// pointer. HELD_POINTERS_BYTES are copied at each, at most HELD_POINTERS_MAX in all.
//
// A container has its elements further away: a list's are at the end of one link, of
// two, of three. So pointers of the stack are roots, from each of which
// HELD_ROOT_OBJECTS objects are copied, breadth first. A root is given a share of its
// own, so that a large graph of objects leaves room for the variables after it, and so
// is a part of the stack: what reports a panic has frames before those of the program.
#pragma once
#include "agent/live/capture.h"

enum {
    HELD_POINTERS_BYTES = 256,
    // Before them: a piece's size, the offsets of virtual bases.
    HELD_POINTERS_BEFORE = 64,
    HELD_POINTERS_MAX = 1 << 20,
    HELD_POINTERS_COUNT = HELD_POINTERS_MAX / HELD_POINTERS_BYTES,
    // How much of a stack is searched. Kept frames rarely need more.
    HELD_POINTERS_STACK = 64 << 10,
    HELD_ROOTS = 256,
    HELD_ROOT_WINDOW = 4096, // bytes of stack, from which come at most
    HELD_WINDOW_ROOTS = 96,
    HELD_ROOT_OBJECTS = 48,
    HELD_DEEP_OBJECTS = 768,   // of all roots
    HELD_OBJECT_POINTERS = 16, // of one object that are followed
    HELD_OBJECT_BYTES = 512,   // copied of an object at most
    HELD_UNKNOWN_BYTES = 320,  // of one whose size the heap does not have
    HELD_BEFORE_BYTES = 32,    // of these, before it
};

// A held_pointers is the pointers found so far.
struct held_pointers {
    const struct capture *capture;
    uint64_t stack_from; // the part of the stack that is copied anyway
    uint64_t stack_to;
    const struct target_mapping *last; // a mapping that a pointer led to
    size_t left;                       // bytes that may still be copied
    size_t count;
    size_t root_count;
    size_t window_end; // the root_count at which no more are taken of this window
    size_t visited_count;
    uint64_t roots[HELD_ROOTS];
    uint64_t visited[2 * HELD_DEEP_OBJECTS]; // a hash table; 0: free
    uint64_t found[HELD_POINTERS_COUNT];     // last, as most of it is never touched
};

// held_chunk_bytes is how many bytes glibc's heap has for the object at address; 0: it
// does not look like one of its chunks.
uint64_t held_chunk_bytes(const struct memory_reader *reader, uint64_t address);

// held_pointers_init begins without any. Pointers is all zero, or was used before.
void held_pointers_init(struct held_pointers *pointers, const struct capture *capture);

// held_pointers_set_stack prepares to search a thread of whose stack that part is
// copied. What is below it is of functions that have returned; what is after it may be
// a heap: a runtime such as Go's has its stacks there.
void held_pointers_set_stack(struct held_pointers *pointers, uint64_t from,
                             uint64_t to);

// held_pointers_note notes word, if it points to data.
void held_pointers_note(struct held_pointers *pointers, uint64_t word);

// held_pointers_search notes the pointers among aligned words.
void held_pointers_search(struct held_pointers *pointers, const void *bytes,
                          size_t size);

// held_pointers_copy appends what the noted pointers point to to the capture's held
// file, and forgets them.
void held_pointers_copy(struct held_pointers *pointers);
