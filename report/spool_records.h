// SPDX-License-Identifier: Apache-2.0
//
// Records in the spool: `crash-*.record`, which the handler of a crashed program leaves
// there when no agent wrote a report (handler/record_file.h).
//
// The next process that works with the spool converts them into reports. It holds flock
// on the record, so that two processes never make two reports of one record.
#pragma once
#include <stdbool.h>

#include "report/spool.h"

// spool_record_fn makes a report of the record that is open as fd. True: it is done,
// and the record is deleted.
typedef bool spool_record_fn(void *context, const char *name, int fd);

// spool_is_record says whether name is that of a record.
bool spool_is_record(const char *name);

// spool_take_records passes every record that no other process works on to take, in no
// particular order. It fails only if the folder cannot be read.
CH_CHECKED enum ch_status spool_take_records(const struct spool *spool,
                                             spool_record_fn *take, void *context);
