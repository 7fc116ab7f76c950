// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a held process there are: a stack of 8 MB is a few pages that were
// touched, and a search of the rest would find zeros, and have the kernel make them.
//
// The kernel tells in /proc/PID/pagemap. Where it does not, every page counts as
// touched. Pages that are swapped out do too; those of files that were only mapped and
// never read do not, so this is for memory that the program made for itself.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOUCHED_PAGES_READ = 512 }; // that are asked for at once

struct touched_pages {
    int fd; // -1: the kernel does not tell
    uint64_t page_bytes;
    uint64_t first; // the page of words[0]
    size_t count;
    uint64_t words[TOUCHED_PAGES_READ];
};

// touched_pages_open prepares to ask about the pages of pid's process, whether or not
// it will be told. pid may be any thread of it that has not exited.
void touched_pages_open(struct touched_pages *pages, pid_t pid);
void touched_pages_close(struct touched_pages *pages);

// touched_pages_next finds the first touched pages from *start on, below end: they
// begin at *start then, and end at *out_end. Both ends are those of pages. False: there
// are none.
bool touched_pages_next(struct touched_pages *pages, uint64_t *start, uint64_t end,
                        uint64_t *out_end);
