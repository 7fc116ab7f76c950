// SPDX-License-Identifier: Apache-2.0
//
// A report of a live process that then continues unharmed.
//
// The process is stopped, read and resumed before anything slow is done with what was
// read. No signal is sent to it, and none of its system calls fails. The report has no
// crash and no crashed thread.
#pragma once
#include <sys/types.h>

#include "agent/live/capture.h"
#include "agent/live/stop_snapshot.h"

// attach_report stops process pid, appends its raw report to out and, unless held is
// NULL, appends to held what values are later made from (report/file/held_file.h); then
// it resumes the process. CH_ERR_IO: it cannot be stopped; errno is set.
CH_CHECKED enum ch_status attach_report(pid_t pid, const struct settings *settings,
                                        const char *home, struct text *out,
                                        struct text *held);

// attach_look does it without a stop: the report has no threads.
CH_CHECKED enum ch_status attach_look(pid_t pid, const struct settings *settings,
                                      const char *home, struct text *out);

// attach_snapshot does the same by a copy of the process (live/stop_snapshot.h), which
// stops it for the time of a fork. CH_ERR_UNSUPPORTED: why says why there is no copy.
CH_CHECKED enum ch_status attach_snapshot(pid_t pid, const struct settings *settings,
                                          const char *home, struct text *out,
                                          struct text *held,
                                          char why[static SNAPSHOT_WHY_SIZE]);
