// SPDX-License-Identifier: Apache-2.0
//
// A book is a small JSON object beside the reports, `NAME.json`, that everybody who
// shares the spool writes in: a process that has it open holds its lock
// (flock on `NAME.lock`), so what was read is still true when it is written. A damaged
// book starts anew. Users: spool_counts, spool_waits.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "report/spool.h"

struct spool_book {
    const struct spool *spool;
    const char *name;
    int lock_fd;
    json_t *content; // an object
};

// spool_book_read reads the book without its lock: what it says was true a moment ago.
// One that is missing or no object is empty. NULL: out of memory.
json_t *spool_book_read(const struct spool *spool, const char *name);

// spool_book_open waits for the lock and reads the book. Whatever it returns, the book
// is to be closed.
CH_CHECKED enum ch_status spool_book_open(const struct spool *spool, const char *name,
                                          struct spool_book *out);
void spool_book_close(struct spool_book *book);

// spool_book_write keeps what the content is now.
CH_CHECKED enum ch_status spool_book_write(const struct spool_book *book);
