// SPDX-License-Identifier: Apache-2.0
//
// Names of code that a program compiled while it ran, from what it wrote for profilers:
// a perf map or a jitdump, or keeps for debuggers (jit_descriptor.h). Only the
// addresses of frames are looked for; the files may be large and hostile.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// Limits of a file, of the addresses looked for, and of a name.
enum {
    JITTED_FILE_BYTES = 64 << 20,
    JITTED_ADDRESSES = 4096,
    JITTED_NAME_BYTES = 2048,
};

// A jitted_code is an address inside of such code, and what is known of the code.
struct jitted_code {
    uint64_t address;
    uint64_t index;     // jitdump: of code that moved here
    bool moved;         // index is set, and the name not yet
    const char *source; // "perf-map", "jitdump", "gdb-jit"; NULL: nothing is known
    struct text name;   // as it was written
};

struct jitted {
    struct jitted_code *codes; // sorted by address, once sorted
    size_t count;
    size_t capacity;
};

void jitted_deinit(struct jitted *jitted);

// jitted_want adds an address to look for; past the limit it is left out.
void jitted_want(struct jitted *jitted, uint64_t address);

// jitted_sort sorts the addresses, once all are known.
void jitted_sort(struct jitted *jitted);

// jitted_name gives a name to the addresses in [start, start + size).
void jitted_name(struct jitted *jitted, uint64_t start, uint64_t size, const char *name,
                 const char *source);

// jitted_read_map and jitted_read_dump take names from a file's bytes. A name that an
// earlier source gave stays.
void jitted_read_map(struct jitted *jitted, const void *bytes, size_t size);
void jitted_read_dump(struct jitted *jitted, const void *bytes, size_t size);

// jitted_find is the code at an address that was queried, or NULL: it has no name.
const struct jitted_code *jitted_find(const struct jitted *jitted, uint64_t address);

// A jitted_place is a name taken apart: V8's names of JavaScript and those of Python's
// perf trampolines have a language and a file, HotSpot's of methods have a language.
struct jitted_place {
    const char *language; // NULL: not known
    const char *function; // function_size bytes
    size_t function_size;
    const char *file; // file_size bytes; NULL: none
    size_t file_size;
};

// jitted_name_split takes a name of size bytes apart; the parts point into it. hotspot:
// the process is a Java virtual machine of that kind.
struct jitted_place jitted_name_split(const char *name, size_t size, bool hotspot);
