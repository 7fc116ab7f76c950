// SPDX-License-Identifier: Apache-2.0
//
// A capture of a dead process, from its core file: the counterpart of capture_take.
//
// The first thread is the one that crashed: kernels and gcore write it first. What a
// core does not have (names of other threads, times, the machine it ran on) is left out
// of the report; while the kernel still pipes the core to us, /proc has it.
#pragma once
#include "agent/core/core_images.h"
#include "agent/live/capture.h"
#include "agent/live/problem_texts.h"

struct core_capture {
    struct capture capture;
    struct core_file core;
    struct core_memory memory;
    struct core_images images;
    struct target_crash crash;
    struct problem_texts problems; // of the capture
};

struct core_options {
    const struct settings *settings;
    const char *home; // masked in paths; NULL: nothing is masked
    struct core_places places;
    pid_t pid; // the dying process, still in /proc; 0: only the core is left
    const struct process_facts *facts; // read earlier from the process; NULL: not read
};

// core_capture_open reads the core on fd into a capture, which raw_report_write takes;
// all, options and fd must outlive it, until core_capture_close. Fails as
// core_file_open does.
CH_CHECKED enum ch_status core_capture_open(struct core_capture *all, int fd,
                                            const struct core_options *options);
void core_capture_close(struct core_capture *all);
