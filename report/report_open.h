// SPDX-License-Identifier: Apache-2.0
//
// Opening a report: the tables of a file of version 2 become frames in their places, in
// the keys of version 1, which is how every reader sees a report.
//
// Frames of one place are one value of the tree, and threads with equal stacks share
// the backtrace, so an open report costs little more memory than its file. It is still
// a decompression bomb for whoever walks all frames of all threads: there are at most
// REPORT_FRAMES_MAX of them. Whoever changes a frame takes it with report_own_frame.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "report/report_error.h"

// REPORT_FRAMES_MAX is how many frames all threads of a report may have together.
enum { REPORT_FRAMES_MAX = 1 << 22 };

// REPORT_MEMBERS_MAX is how many members the frames may have that are copied because
// they differ from thread to thread, and the values in them.
enum { REPORT_MEMBERS_MAX = 1 << 22 };

// report_open replaces the tables in report, a file of version 2. CH_ERR_MALFORMED: the
// tables are not as they should be, error says where. CH_ERR_LIMIT: too many frames or
// values. After a failure report is good for nothing.
CH_CHECKED enum ch_status report_open(json_t *report, struct report_error *error);

// report_own_frame gives frame number index of thread, made a value that nothing else
// in the report shares. NULL: there is none, or no memory for it.
json_t *report_own_frame(json_t *thread, size_t index);
