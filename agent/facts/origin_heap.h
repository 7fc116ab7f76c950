// SPDX-License-Identifier: Apache-2.0
//
// The heap of glibc's malloc as it lies in memory: pieces with their sizes, and the
// free lists whose links are protected ("safe-linking", glibc 2.32): a link is the
// address of the next piece, exclusive-ored with its own address shifted right by 12.
//
// Nothing is believed that memory does not confirm, and at most ORIGIN_HEAP_PAGES are
// read for one value.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/live/capture.h"

enum { ORIGIN_HEAP_PAGES = 64 };

// origin_heap_is_heap returns true if malloc may have pieces in the mapping.
bool origin_heap_is_heap(const struct target_mapping *mapping);

// origin_heap_is_piece returns true if address is the start of a piece in use: the
// sizes before it and after its end agree.
bool origin_heap_is_piece(const struct capture *capture, uint64_t address);

// An origin_block is a piece without its head: what malloc returned.
struct origin_block {
    uint64_t address;
    uint64_t size; // what the program may use of it
    bool freed;
};

// origin_heap_find_block finds the block of malloc that address is in. It reads at most
// one page before address. False: there is none, or more than one may be it.
bool origin_heap_find_block(const struct capture *capture, uint64_t address,
                            struct origin_block *out);

// origin_heap_find_link finds the freed piece whose link is value, and the piece that
// it leads to (0: the last of its list). False: there is none.
bool origin_heap_find_link(const struct capture *capture, uint64_t value,
                           uint64_t *out_piece, uint64_t *out_next);

// origin_heap_find_bin finds the first freed piece of the list whose head is at value:
// the last of its pieces is linked to that ("unsorted", and larger pieces' lists). The
// list has to lead back to its head both ways.
bool origin_heap_find_bin(const struct capture *capture, uint64_t value,
                          uint64_t *out_piece);
