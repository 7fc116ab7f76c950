// SPDX-License-Identifier: Apache-2.0
//
// A book is a small JSON object beside the reports, `NAME.json`, that all processes
// sharing the spool update: an open book holds its lock (flock on `NAME.lock`), so what
// was read is still current when it is written. A damaged book counts as empty. Users:
// spool_counts, spool_waits.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "report/spool/spool.h"

struct spool_book {
    const struct spool *spool;
    const char *name;
    int lock_fd;
    json_t *content; // an object
};

// spool_book_read reads the book without its lock: the content may be out of date at
// once. A book that is missing or not an object is empty. NULL: out of memory.
json_t *spool_book_read(const struct spool *spool, const char *name);

// spool_book_open waits for the lock and reads the book. The book must be closed
// whatever it returns.
CH_CHECKED enum ch_status spool_book_open(const struct spool *spool, const char *name,
                                          struct spool_book *out);
void spool_book_close(struct spool_book *book);

// spool_book_write stores the current content.
CH_CHECKED enum ch_status spool_book_write(const struct spool_book *book);

// spool_book_update does the same for a book that is written for each report, and read
// under its lock alone: while it is small its file is overwritten, not replaced. Files
// that come and go cost a file system without a journal more than all else in an
// upload.
CH_CHECKED enum ch_status spool_book_update(const struct spool_book *book);
