// SPDX-License-Identifier: Apache-2.0
//
// A capture of a dead process, from its core file: the counterpart of capture_take.
//
// The first thread is the one that crashed: kernels and gcore write it first. What a
// core does not have (names of other threads, times, the machine it ran on) is left out
// of the report; while the kernel still pipes the core to us, /proc has it.
//
// A process that the kernel holds (dumped_process.h) is captured as a live one is, with
// the threads and registers that the notes of its core have.
#pragma once
#include "agent/core/core_file.h"
#include "agent/core/core_images.h"
#include "agent/core/dumped_process.h"
#include "agent/facts/context.h"
#include "agent/live/capture.h"
#include "base/memory_reader.h"
#include "base/text.h"

// Problems of a capture whose messages are formatted at run time and must live as long
// as the capture.

struct problem_texts {
    struct capture *capture;
    const char *stage; // of every problem
    char *texts[CAPTURE_PROBLEMS_MAX];
    size_t count;
};

// problem_texts_say adds a problem whose message is formatted as by printf. It is a
// core_say_fn over struct problem_texts.
void problem_texts_say(void *texts, const char *format, ...) CH_PRINTF(2, 3);
void problem_texts_deinit(struct problem_texts *texts);

struct core_capture {
    struct capture capture;
    struct core_file core;
    struct core_memory memory;
    struct core_images images;
    struct target_crash crash;
    struct problem_texts problems; // of the capture
    struct context_page *context;  // of a dumped process; NULL: none was found
};

struct core_options {
    const struct settings *settings;
    const char *home; // masked in paths; NULL: nothing is masked
    struct core_places places;
    pid_t pid; // the dying process, still in /proc; 0: only the core is left
    const struct process_facts *facts; // read earlier from the process; NULL: not read
    struct dumped_process *dumped;     // the core has the notes alone, and all else is
                                       // this process's; NULL: the core has all
};

// core_capture_open reads the core on fd into a capture, which raw_report_write takes;
// all, options and fd must outlive it, until core_capture_close. Fails as
// core_file_open does.
CH_CHECKED enum ch_status core_capture_open(struct core_capture *all, int fd,
                                            const struct core_options *options);
void core_capture_close(struct core_capture *all);

// The arguments that a dead process was started with.
//
// A core's process note has 80 characters of them, joined by blanks. All of them are on
// the stack where the kernel put them, just below the auxiliary vector; the vector is
// found by searching for the copy of it that the core's notes have.

// core_arguments_read appends the arguments, each followed by a NUL: those on the
// stack, otherwise those that the note has.
void core_arguments_read(const struct core_file *core,
                         const struct memory_reader *memory, struct text *out);

// Facts that only section headers lead to: unwind tables that no program header refers
// to (static programs), and where static programs' libraries keep their last messages.
// Section headers are in files and never in memory.

// core_sections_add completes images->unwind from the files of those images whose
// program headers lead to no unwind table.
void core_sections_add(struct core_images *all);
