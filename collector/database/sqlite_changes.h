// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a SQLite file are written while it is copied, as its log tells
// (sqlite.org/fileformat2.html, "The Write-Ahead Log"). A log is written anew from its
// beginning only once all of it is in the file: pages of earlier logs are to be copied
// from there again, and those of the present one from the log itself.
//
// Calls exclude each other and commits. Users: sqlite_log.c, which calls after each
// commit, and sqlite_copy.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { PAGE_SET_MOST = 1 << 28 }; // 1 TB of 4 KB

// A page_set is a set of pages, by number, the first being 1: a bit each.
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

struct sqlite_changes;

// sqlite_changes_create reads the log at path, of a file with pages of that size.
CH_CHECKED enum ch_status sqlite_changes_create(const char *path, uint32_t page_bytes,
                                                struct sqlite_changes **out);

void sqlite_changes_destroy(struct sqlite_changes *changes);

// sqlite_changes_note learns what was committed: there are frames pages in the log now.
// What fails shows in sqlite_changes_take.
void sqlite_changes_note(struct sqlite_changes *changes, uint32_t frames);

// sqlite_changes_take adds to a set the pages of earlier logs which were noted since
// the last call. CH_ERR_IO: not all are known.
CH_CHECKED enum ch_status sqlite_changes_take(struct sqlite_changes *changes,
                                              struct page_set *out);

// sqlite_changes_replay writes the pages of the present log into a file, and gives how
// many pages the database has; 0: the log is empty.
CH_CHECKED enum ch_status sqlite_changes_replay(struct sqlite_changes *changes, int to,
                                                uint32_t *out_pages);
