// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a held process exist. Of a stack of 8 MB only a few pages were
// touched; searching the rest would find zeros, and make the kernel allocate them.
//
// /proc/PID/pagemap says. Where it cannot be read, every page counts as touched. Pages
// that are swapped out count as touched too; file pages that were mapped but never read
// do not, so this is for anonymous memory.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOUCHED_PAGES_READ = 512 }; // read at once

struct touched_pages {
    int fd; // -1: pagemap cannot be read
    uint64_t page_bytes;
    uint64_t first; // the page of words[0]
    size_t count;
    uint64_t words[TOUCHED_PAGES_READ];
};

// touched_pages_open prepares to query the pages of pid's process; it succeeds even if
// pagemap cannot be read. pid may be any of its threads that has not exited.
void touched_pages_open(struct touched_pages *pages, pid_t pid);
void touched_pages_close(struct touched_pages *pages);

// touched_pages_next finds the first run of touched pages from *start on, below end,
// and sets *start and *out_end to its bounds, which are page-aligned. False: there is
// none.
bool touched_pages_next(struct touched_pages *pages, uint64_t *start, uint64_t end,
                        uint64_t *out_end);
