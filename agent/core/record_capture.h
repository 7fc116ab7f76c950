// SPDX-License-Identifier: Apache-2.0
//
// A capture of a crash of which only the handler's record exists: the counterpart of
// capture_take. The record takes the place of a core file, and images are read from the
// files they were mapped from, unless those have changed since.
//
// It has only the thread that crashed, and what a record says of the process. A
// liveness record (record_file.h) has no thread at all: termination says how it ended.
#pragma once
#include "agent/core/core_capture.h"
#include "agent/core/core_images.h"
#include "agent/core/record_file.h"
#include "agent/facts/context.h"
#include "agent/facts/termination.h"
#include "agent/live/capture.h"

struct record_capture {
    struct capture capture;
    struct settings settings; // the caller's, overridden by the dead process's
    struct record_file record;
    struct core_file core; // the record presented as a core; owns nothing
    struct core_memory memory;
    struct core_images images;
    struct target_crash crash;
    struct context_page context;
    struct termination termination; // of a liveness record
    struct problem_texts problems;  // of the capture
};

// record_capture_open reads the record on fd into a capture, which raw_report_write
// takes; all, fd and settings must outlive it, until record_capture_close. Fails as
// record_file_open does.
CH_CHECKED enum ch_status record_capture_open(struct record_capture *all, int fd,
                                              const struct settings *settings);
// record_capture_is_liveness returns true if the record is a liveness record, and
// record_capture_has_ended whether that needs no report: it ended as it wanted to, or
// by a crash.
bool record_capture_is_liveness(const struct record_capture *all);
bool record_capture_has_ended(const struct record_capture *all);

// record_capture_killed makes the capture one of a process that was killed. The facts
// in termination are those of its supervisor, and without one those that the liveness
// record has. What supervisor knows of the process, if it is not NULL, replaces what
// the liveness record has.
void record_capture_killed(struct record_capture *all,
                           const struct termination *termination,
                           struct process_facts *process);

// record_capture_bare is a capture of a liveness record that could not be made.
void record_capture_bare(struct record_capture *all, pid_t pid,
                         const struct settings *settings);
void record_capture_close(struct record_capture *all);
