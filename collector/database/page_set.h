// SPDX-License-Identifier: Apache-2.0
//
// A set of pages of a SQLite file, by number, the first being 1: a bit each. Users:
// sqlite_copy.c and sqlite_changes.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE_SET_MOST = 1 << 28 }; // 1 TB of 4 KB

struct page_set {
    uint64_t *words;
    size_t word_count;
    size_t count; // of pages in it
};

// page_run is pages without a gap.
struct page_run {
    uint32_t first;
    uint32_t count;
};

void page_set_deinit(struct page_set *set);

// page_set_add adds a page. False, here and below: out of memory, or beyond
// PAGE_SET_MOST.
bool page_set_add(struct page_set *set, uint32_t page);

bool page_set_has(const struct page_set *set, uint32_t page);

// page_set_move adds all pages of one set to another, and empties it.
bool page_set_move(struct page_set *from, struct page_set *to);

// page_set_take removes the first run of at most most pages; count 0: the set is empty.
// *word is where it looks first: 0 at the beginning.
struct page_run page_set_take(struct page_set *set, size_t *word, uint32_t most);
