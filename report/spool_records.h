// SPDX-License-Identifier: Apache-2.0
//
// Records in the spool: `crash-*.record`, which the handler of a crashed program leaves
// there when no agent has written a report (handler/record_file.h).
//
// Whoever next works with the spool turns them into reports. flock on a record says who
// does, so that two of them never make two reports of one.
#pragma once
#include <stdbool.h>

#include "report/spool.h"

// A spool_record_fn makes a report of the record that fd is open on. True: it is done
// with, and the record is deleted.
typedef bool spool_record_fn(void *context, const char *name, int fd);

// spool_is_record is whether a file of that name is one.
bool spool_is_record(const char *name);

// spool_take_records gives every record that nobody else works on to take, in no
// particular order. It fails only where the folder cannot be read.
CH_CHECKED enum ch_status spool_take_records(const struct spool *spool,
                                             spool_record_fn *take, void *context);
