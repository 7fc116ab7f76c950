// SPDX-License-Identifier: Apache-2.0
//
// Records in the spool: `crash-*.record`, which the handler of a crashed program leaves
// there when no agent wrote a report (shared/record_file.h).
//
// The next process that works with the spool converts them into reports. It holds flock
// on the record, so that two processes never make two reports of one record.
//
// `life-*.record` is a copy of a program's liveness record, for the case that its
// supervisor is killed with it; as long as that lives, it holds the lock.
// `last-*.record` are the last words of a program that exits by a panic or an exception
// (cli/session/exit_words.h).
#pragma once
#include <stdbool.h>

#include "report/spool/spool.h"

// SPOOL_LIVENESS_NAME_SIZE is for the name of a liveness record.
enum { SPOOL_LIVENESS_NAME_SIZE = 48 };

// spool_record_fn makes a report of the record that is open as fd. True: it is done,
// and the record is deleted.
typedef bool spool_record_fn(void *context, const char *name, int fd);

// spool_is_record returns true if name is that of a record.
bool spool_is_record(const char *name);

// spool_liveness_name writes the name of a liveness record: that of a process, by its
// start in clock ticks.
void spool_liveness_name(uint64_t start_ticks, int32_t pid,
                         char out[static SPOOL_LIVENESS_NAME_SIZE]);

// spool_is_words returns true if name is that of last words, and spool_words_process
// gives the process, or thread, that it names. spool_words_name writes the name.
bool spool_is_words(const char *name);
bool spool_words_process(const char *name, uint64_t *out_start_ticks, int32_t *out_pid);
void spool_words_name(uint64_t start_ticks, int32_t pid,
                      char out[static SPOOL_LIVENESS_NAME_SIZE]);

// spool_take_record passes one record on like this; false: it does not exist, or
// another process works on it.
bool spool_take_record(const struct spool *spool, const char *name,
                       spool_record_fn *take, void *context);

// spool_take_records passes every record that no other process works on to take, lives
// last, after words. It fails only if the folder cannot be read.
CH_CHECKED enum ch_status spool_take_records(const struct spool *spool,
                                             spool_record_fn *take, void *context);
