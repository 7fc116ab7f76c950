// SPDX-License-Identifier: Apache-2.0
//
// All goroutines of a Go program, from runtime.allgs, with where each waits and what
// created it. The list and the version of Go are found by the symbols of the program's
// file; where the members of a goroutine are depends on the version (go_layout_*).
// x86-64 alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/elf.h"

// Where a version of Go keeps the members of a goroutine. Of the version that this was
// tried with there is a table; of others the program's own debug information says it.

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

enum { GOROUTINES_MAX = 1000, GOROUTINE_REASON_SIZE = 48 };

struct goroutine {
    uint64_t id;
    const char *state;                  // runnable, running, syscall, waiting
    char reason[GOROUTINE_REASON_SIZE]; // why it waits; empty: not known
    uint64_t pc; // where it goes on, with its sp and frame pointer; of one that runs,
    uint64_t sp; // only the thread knows
    uint64_t fp;
    uint64_t creator; // where it was created; 0: not known
    uint64_t parent;  // number of the goroutine that created it; 0: not known
    uint64_t stack_end;
    bool runs;
    bool called; // pc is where a call returns, which is not so of one that was
                 // interrupted or has not begun
};

struct goroutines {
    const struct memory_reader *reader;
    struct go_layout layout;
    uint64_t list; // address of the pointers
    uint64_t count;
    uint64_t reasons; // address of the runtime's words
    uint64_t next;    // number of the next one
};

// goroutines_open finds the list of a program whose file is view, loaded bias above its
// addresses. CH_ERR_NOT_FOUND: its file has no such symbols. CH_ERR_UNSUPPORTED: of a
// version of Go that is not known, and without debug information.
CH_CHECKED enum ch_status goroutines_open(struct goroutines *goroutines,
                                          const struct memory_reader *reader,
                                          const struct elf_view *view, uint64_t bias);

// goroutines_read_origin reads the number of a goroutine, what created it and where its
// stack ends, also of one that runs. False: it cannot be read.
bool goroutines_read_origin(const struct goroutines *goroutines, uint64_t g,
                            struct goroutine *out);

// goroutines_next reads the next one that exists. False: there are no more, or they
// cannot be read.
bool goroutines_next(struct goroutines *goroutines, struct goroutine *out);
