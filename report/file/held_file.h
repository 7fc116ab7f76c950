// SPDX-License-Identifier: Apache-2.0
//
// What was copied of a process while it was held, from which the free phase makes
// values: pieces of its memory, its threads' registers, and which objects it registered
// to be shown.
//
// The agent writes it into a memfd, never to disk, and passes it on through exec;
// `attach` and `core` keep it in memory. Pieces may overlap: all were copied at the
// same moment. The memory comes from a stranger: nothing in it is trusted, and a
// missing piece is a hole that readers get an error for.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "base/text.h"
#include "unwind/unwind.h"

struct held_memory {
    uint64_t address;
    const uint8_t *bytes;
    size_t size;
};

// held_mapping is a range of addresses that were mapped.
struct held_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t flags; // enum held_flags
};

enum held_flags {
    HELD_READ = 1,
    HELD_WRITE = 2,
    HELD_EXECUTE = 4,
    HELD_OF_FILE = 8,
};

// held_cut is what is missing of the memory reachable from an object. Memory that is
// absent but not listed as missing could not be read.
enum held_cut {
    HELD_WHOLE,
    HELD_CUT_BEYOND, // the targets of its own pointers are present
    HELD_CUT,
};

// held_watch is an object that the program registered to be shown.
struct held_watch {
    const char *name;
    const char *type; // in words, as the program gave it
    uint64_t address;
    uint64_t size;
    uint64_t caller; // an address in the code that registered it
    uint64_t cut;    // enum held_cut
};

// held_thread has the registers that the thread was stopped with.
struct held_thread {
    uint64_t tid;
    const struct unwind_arch *arch;
    struct unwind_registers registers;
    uint64_t thread_pointer; // 0: not known
    const uint8_t *vectors;  // HELD_VECTOR_BYTES each
    size_t vector_count;     // 0: not known
};

// HELD_VECTORS_BYTES is the size of v0 to v31 of AArch64. Of x86-64 there are xmm0 to
// xmm15.
enum { HELD_VECTOR_BYTES = 16, HELD_VECTORS_BYTES = 32 * HELD_VECTOR_BYTES };

struct held_file {
    struct held_memory *pieces; // by address, not overlapping
    size_t piece_count;
    struct held_watch *watches;
    size_t watch_count;
    struct held_thread *threads; // by tid
    size_t thread_count;
    struct held_mapping *mappings; // by start; those that were given
    size_t mapping_count;
};

// held_file_add_memory appends size bytes that were at address.
void held_file_add_memory(struct text *out, uint64_t address, const void *bytes,
                          size_t size);

// held_file_add_watch appends an object; its bytes are among the memory.
void held_file_add_watch(struct text *out, const struct held_watch *watch);

// held_file_add_thread appends a thread's registers, as many as its arch has, and its
// thread pointer if that is known.
void held_file_add_thread(struct text *out, const struct held_thread *thread);

// held_file_add_vectors appends the vector registers of the thread appended before.
void held_file_add_vectors(struct text *out, const uint8_t *bytes, size_t count);

// held_file_add_mapping appends a mapping; they are appended by start.
void held_file_add_mapping(struct text *out, const struct held_mapping *mapping);

// held_file_init reads what was appended, which must outlive file. CH_ERR_MALFORMED,
// CH_ERR_TRUNCATED: bytes are something else.
CH_CHECKED enum ch_status held_file_init(struct held_file *file, const void *bytes,
                                         size_t size);
void held_file_deinit(struct held_file *file);

// held_file_thread is the thread with that tid, or NULL.
const struct held_thread *held_file_thread(const struct held_file *file, uint64_t tid);

// held_file_mapping is the mapping that holds address, or NULL.
const struct held_mapping *held_file_mapping(const struct held_file *file,
                                             uint64_t address);

// held_file_is_mapped returns true if address was mapped; true if no mappings were
// appended.
bool held_file_is_mapped(const struct held_file *file, uint64_t address);

// held_file_reader reads the memory that file has; file must outlive it.
struct memory_reader held_file_reader(struct held_file *file);
