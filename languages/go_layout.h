// SPDX-License-Identifier: Apache-2.0
//
// Where a version of Go keeps the members of a goroutine. Of the version that this was
// tried with there is a table; of others the program's own debug information says it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/elf.h"

enum { GO_OFFSET_MAX = 4096 };

// A go_layout is offsets in runtime.g; 0: there is no such member, or it is not known.
struct go_layout {
    uint64_t stack_low;
    uint64_t stack_high;
    uint64_t sp;
    uint64_t pc;
    uint64_t fp;
    uint64_t status;
    uint64_t number;
    uint64_t reason;
    uint64_t creator; // where it was created
    uint64_t parent;  // number of the goroutine that created it
};

// go_layout_of_version is the layout of "go1.19.8" and the like. False: it is not
// known. whole: it is known what created a goroutine.
bool go_layout_of_version(const char *version, struct go_layout *out, bool *whole);

// go_layout_read takes it from the debug information of file. CH_ERR_NOT_FOUND: it has
// none, or not of the runtime. CH_ERR_MALFORMED: what it says cannot be.
CH_CHECKED enum ch_status go_layout_read(const struct elf_view *file,
                                         struct go_layout *out);

// go_layout_find finds the layout for a program of that version whose file is file.
// CH_ERR_UNSUPPORTED: it is known from neither.
CH_CHECKED enum ch_status go_layout_find(const struct elf_view *file,
                                         const char *version, struct go_layout *out);
