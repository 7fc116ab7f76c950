// SPDX-License-Identifier: Apache-2.0
//
// A core's address space: the core's own bytes, then those of the image files.
//
// Kernels leave code out of cores because the files have it. A place that the core
// lacks is read from the file mapped there, once a caller has verified that it is the
// right file and added it. Only what the program could not write is ever added: a page
// that is missing for another reason stays missing.
#pragma once
#include <stdint.h>

#include "agent/core/core_file.h"
#include "agent/core/file_blocks.h"
#include "base/memory_reader.h"

// A core_region is a range of addresses whose bytes are in a file.
struct core_region {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // in the file
    int fd;
};

struct core_memory {
    const struct core_file *core;
    struct file_blocks blocks;
    struct core_region *regions; // sorted by start
    size_t count;
    size_t capacity;
};

// core_memory_init prepares to read the memory of core, which must outlive it.
CH_CHECKED enum ch_status core_memory_init(struct core_memory *memory,
                                           const struct core_file *core);
void core_memory_deinit(struct core_memory *memory);

// core_memory_add backs region, which may not overlap others, with a file. The caller
// keeps the file's ownership and leaves it open.
CH_CHECKED enum ch_status core_memory_add(struct core_memory *memory,
                                          const struct core_region *region);

// core_memory_reader is the address space as a memory_reader.
struct memory_reader core_memory_reader(struct core_memory *memory);
