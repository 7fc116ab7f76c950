// SPDX-License-Identifier: Apache-2.0
//
// A capture is a process held still: its threads and registers, its memory, images and
// facts. A crash, a live attach and a core file are all captures; a crash adds what the
// handler, or the core, reported of it. The raw report is written from it
// (raw_report.h) while the process is held. capture_take captures a live process,
// core_capture.h a core.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/facts.h"
#include "agent/live/refusal.h"
#include "agent/live/stop.h"
#include "agent/live/target_memory.h"
#include "agent/live/thread_names.h"
#include "base/settings/settings.h"
#include "images/images.h"
#include "report/file/held_file.h"
#include "shared/request_page.h"
#include "unwind/unwind.h"

// A target_crash is what the handler reported of the crash.
struct target_crash {
    pid_t tid;
    siginfo_t info;
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    struct unwind_registers registers;
    uint64_t flags;
    uint64_t fault_error;  // x86-64: the page fault's error code
    uint64_t fault_trap;   // x86-64: the exception's vector number
    bool dies;             // the process dies whatever its handlers do
    bool narrow;           // a 32-bit program: see narrow_registers.h
    bool signal_only;      // only the signal number in info is known
    uint64_t context_page; // address of the program's context page; 0: none
    uint64_t flight_state; // address of libcrashhook-flight's rings; 0: none
    struct runtime_places places;
    uint64_t get_globals;      // __cxa_get_globals; 0: not known
    uint64_t thread_pointer;   // the thread's; 0: not known
    uint64_t context;          // address of its ucontext_t; 0: not known
    const uint8_t *vectors_of; // a core's: HELD_VECTORS_BYTES; NULL: not known
    bool has_vectors;          // a tracer has read them:
    uint8_t vectors[HELD_VECTORS_BYTES];
    int channel;      // to the waiting handler; 0: none waits
    uint64_t watches; // address of the table of watched objects; 0: none

    // What one of the program's own handlers did about the crash: the signal that it
    // raised (si_signo 0: none), or the status that it was exiting with.
    siginfo_t then;
    bool exits;
    int32_t exit_status;
};

// A capture_problem is a part of the report that is missing, and why: partial is a
// result.
struct capture_problem {
    const char *stage;
    const char *status;
    uint64_t address; // 0: none
};

enum { CAPTURE_PROBLEMS_MAX = 32 };

struct capture_timings {
    uint64_t spawn_us;
    uint64_t attach_us;
    uint64_t capture_us;
    uint64_t unwind_us;
    uint64_t write_us;
};

struct context_page;
struct termination;

struct capture {
    const struct settings *settings;
    const char *home;                 // masked in paths; NULL: nothing is masked
    const struct target_crash *crash; // NULL: a live process
    struct target_crash first;        // what crash points to after an earlier fault was
                                      // found
    const char *tier; // NULL: derived from how the process was stopped and read
    const struct unwind_arch *arch;
    bool narrow; // a 32-bit program, see narrow_registers.h
    struct stop stop;
    bool same_root; // our root folder is the process's: its handler has started us
    bool careful;   // pages that nobody may supply are left out
    bool bounded;   // a read that does not end ends us (stall.h)
    int memory_fd;  // /proc/PID/mem of a traced process, or -1
    char refusal[REFUSAL_MAX];   // why not all threads could be stopped; empty: all
                                 // could
    struct target_memory memory; // of a live process
    struct target_stack *stacks; // of a live process's stopped threads
    struct thread_names names;   // of a live process's threads
    struct memory_reader reader; // of memory, or of a core
    const char *core_name;       // name of a core's first thread; NULL: /proc has the
                                 // names
    pid_t core_name_tid;         // the thread with core_name, where that is not the
                                 // first
    const struct context_page
        *context; // what the program recorded of itself; NULL: nothing
    struct target_images images;
    struct process_facts process;
    struct host_facts host;
    struct capture_problem problems[CAPTURE_PROBLEMS_MAX];
    size_t problem_count;
    struct capture_timings timings;
    struct text *held; // a held_file of what the free phase needs; NULL: none is kept
    uint64_t watches;  // address of the table of watched objects; 0: none
    const struct termination
        *termination; // an end that no handler saw (termination.h); NULL: a crash
    bool gone;        // nothing of the process is left to be read
};

// capture_take stops process pid and collects what a report needs, except the stacks.
// The caller sets capture->settings, home and crash and zeroes the rest; it also sets
// stop where a tracer already holds the threads (stop_traced). On failure the stopped
// threads are resumed; for CH_ERR_IO, errno says why.
CH_CHECKED enum ch_status capture_take(struct capture *capture, pid_t pid);

// capture_release resumes a live process.
void capture_release(struct capture *capture);
void capture_deinit(struct capture *capture);

// capture_is_process returns true if a process is held, as opposed to a core or a
// record.
static inline bool capture_is_process(const struct capture *capture)
{
    return capture->tier == NULL;
}

// capture_next_place gives the next place, of size bytes, that a note of that kind
// announces in the images from *at on, and advances *at past it. An invalid place
// becomes a problem. False: there are no more.
bool capture_next_place(struct capture *capture, unsigned kind, size_t size, size_t *at,
                        uint64_t *out);

// capture_tier is the report's agent.tier: how the process was stopped and read.
const char *capture_tier(const struct capture *capture);

// capture_problem records that stage ended with status; problems past the limit are
// dropped.
void capture_problem(struct capture *capture, const char *stage, const char *status,
                     uint64_t address);

// capture_clock_us is a clock for timings.
uint64_t capture_clock_us(void);
