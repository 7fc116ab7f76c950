// SPDX-License-Identifier: Apache-2.0
//
// Opening a report: the tables of a file of version 2 become frames in their places,
// with the keys of version 1, which is the form that every reader sees.
//
// Frames of one place are one value of the tree, and threads with equal stacks share
// the backtrace, so an open report takes little more memory than its file. It is still
// a decompression bomb for code that walks all frames of all threads, so their number
// is limited to REPORT_FRAMES_MAX. Code that modifies a frame must get it from
// report_own_frame.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// Why a report was refused, in one line: "threads[2].tid is not a number".
//
// A check words the failure where it finds it, and its callers add where that was. A
// text that is longer than the line is cut.

struct report_error {
    char text[256];
};

// report_error_set formats the error like printf.
void report_error_set(struct report_error *error, const char *format, ...)
    CH_PRINTF(2, 3);

// report_error_within puts where[index] in front of the error of an inner check.
void report_error_within(struct report_error *error, const char *where, size_t index);

// REPORT_FRAMES_MAX is how many frames all threads of a report may have in total.
enum { REPORT_FRAMES_MAX = 1 << 22 };

// REPORT_MEMBERS_MAX is how many members the frames may have in total that are copied
// because they differ from thread to thread, including the values in them.
enum { REPORT_MEMBERS_MAX = 1 << 22 };

// report_open replaces the tables in report, a file of version 2; if it is to be brief,
// all values are checked, but only those of the crashed thread are put into frames, and
// the lists of values stay in the threads.
// CH_ERR_MALFORMED: the tables are not valid, error says where. CH_ERR_LIMIT: there are
// too many frames or values. After a failure report can only be freed.
CH_CHECKED enum ch_status report_open(json_t *report, bool brief,
                                      struct report_error *error);

// report_own_frame returns frame number index of thread after making it a value that no
// other part of the report shares. NULL: there is none, or memory is short. What the
// frame holds, such as its variables, may be shared with other frames.
json_t *report_own_frame(json_t *thread, size_t index);

// report_own_frames returns the array of thread's frames after making it one that no
// other thread has; its elements may be shared. NULL: there is none, or memory is
// short.
json_t *report_own_frames(json_t *thread);
