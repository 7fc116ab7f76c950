// SPDX-License-Identifier: Apache-2.0
//
// The addresses of the function numbers in a trace: XRay's instrumentation map, a
// section of the program that wrote it (docs/formats/fdr.md).
//
// The map has an entry for each sled; functions are numbered from 1 in its order. This
// gives addresses only: finding their names is up to the caller.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/debug/elf.h"

// An fdr_sled is a place in a function where XRay can insert a call.
struct fdr_sled {
    uint64_t vaddr;
    uint64_t function; // its vaddr
    uint32_t id;       // the function's number
    uint8_t kind;      // 0 enter, 1 exit, 2 tail exit, 3 enter and log arguments, ...
    bool always;       // instrumented whatever the function's size
    uint8_t version;
};

struct fdr_functions {
    struct cursor entries;
    uint64_t vaddr;    // of the next entry
    uint64_t previous; // function of the previous entry
    uint32_t count;    // of the functions given so far
    bool relocated;    // absolute addresses would need relocations
};

// fdr_functions_init finds the map in elf, whose bytes must outlive functions.
// CH_ERR_NOT_FOUND: the program has none. CH_ERR_UNSUPPORTED: not a 64-bit program.
CH_CHECKED enum ch_status fdr_functions_init(struct fdr_functions *functions,
                                             const struct elf_view *elf);

// fdr_functions_next_sled gives the next entry of the map. CH_END: there are no more.
CH_CHECKED enum ch_status fdr_functions_next_sled(struct fdr_functions *functions,
                                                  struct fdr_sled *out);

// fdr_sled_name gives the kind as listings spell it, "function-enter".
const char *fdr_sled_name(const struct fdr_sled *sled);

// fdr_functions_next gives the vaddr of the next function, whose number is
// functions->count. CH_END: there are no more.
CH_CHECKED enum ch_status fdr_functions_next(struct fdr_functions *functions,
                                             uint64_t *out_vaddr);
