// SPDX-License-Identifier: Apache-2.0
//
// A capture of a crash of which only the handler's record exists: the counterpart of
// capture_take. The record takes the place of a core file, and images are read from the
// files they were mapped from, unless those have changed since.
//
// It has only the thread that crashed, and what a record has of the process.
#pragma once
#include "agent/capture.h"
#include "agent/context.h"
#include "agent/core/core_images.h"
#include "agent/core/record_file.h"
#include "agent/problem_texts.h"

struct record_capture {
    struct capture capture;
    struct settings settings; // the caller's, overridden by the dead process's
    struct record_file record;
    struct core_file core; // the record presented as a core; owns nothing
    struct core_memory memory;
    struct core_images images;
    struct target_crash crash;
    struct context_page context;
    struct problem_texts problems; // of the capture
};

// record_capture_open reads the record on fd into a capture, which raw_report_write
// takes; all, fd and settings must outlive it, until record_capture_close. Fails as
// record_file_open does.
CH_CHECKED enum ch_status record_capture_open(struct record_capture *all, int fd,
                                              const struct settings *settings);
void record_capture_close(struct record_capture *all);
