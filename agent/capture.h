// SPDX-License-Identifier: Apache-2.0
//
// A capture is a process held still: its threads and registers, its memory, images and
// facts. A crash, a live attach and a core file are all captures; a crash adds what the
// handler, or the core, said of it. The raw report is written from it (raw_report.h)
// while the process is held. capture_take makes one of a live process, core_capture.h
// one of a core.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/images/images.h"
#include "agent/live/facts.h"
#include "agent/live/refusal.h"
#include "agent/live/stop.h"
#include "agent/live/target_memory.h"
#include "base/settings.h"
#include "unwind/unwind.h"

// What the handler told of the crash.
struct target_crash {
    pid_t tid;
    siginfo_t info;
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    struct unwind_registers registers;
    uint64_t flags;
    uint64_t fault_error;       // x86-64: the processor's page fault code
    uint64_t fault_trap;        // x86-64: the exception's number
    bool dies;                  // the process dies of it whatever happens
    bool narrow;                // the program is of 32 bits: see narrow_walk.h
    bool signal_only;           // info has nothing but the signal's number
    uint64_t abort_message;     // where glibc's __abort_msg is; 0: not known
    uint64_t exception_globals; // where libstdc++ keeps the thread's; 0: not known
    uint64_t terminate;         // where std::terminate is; 0: not known
    uint64_t set_terminate;     // where std::set_terminate is; 0: not known
    uint64_t context_page;      // where the program's context page is; 0: it has none
    uint64_t flight_state;      // where libcrashhook-flight keeps its rings; 0: none
    uint64_t exception_slot;    // where a pointer to libc++abi's is; 0: not known
    uint64_t get_terminate;     // std::get_terminate; 0: not known
    uint64_t get_globals;       // __cxa_get_globals; 0: not known
    uint64_t assert_fail;       // __assert_fail; 0: not known
    uint64_t sanitizer_report;  // the text of AddressSanitizer's report; 0: none
    uint64_t thread_pointer;    // of the thread; 0: not known
    int channel;                // to the handler that waits; 0: none does
    uint64_t watches;           // where the table of watched objects is; 0: nowhere

    // What a handler of the program's did about the crash: the signal that it raised
    // (si_signo 0: none), or the status that it was exiting with.
    siginfo_t then;
    bool exits;
    int32_t exit_status;
};

// A part of the report that could not be had, and why: partial is a result.
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

struct capture {
    const struct settings *settings;
    const char *home;                 // masked in paths; NULL: nothing is
    const struct target_crash *crash; // NULL: a live process
    struct target_crash first;        // what crash is where a fault came first
    const char *tier; // NULL: by how the process could be stopped and read
    const struct unwind_arch *arch;
    bool narrow; // a program of 32 bits, see narrow_walk.h
    struct stop stop;
    int memory_fd;               // of a process that is traced: its memory, or -1
    char refusal[REFUSAL_MAX];   // why not all of it could be; empty: it could
    struct target_memory memory; // of a live process
    struct target_stack *stacks; // of its stopped threads
    struct memory_reader reader; // of memory, or of a core
    const char *core_name;       // of a core's first thread; NULL: /proc has the names
    pid_t core_name_tid;         // whose name it is, where that is not the first thread
    const struct context_page
        *context; // what the program said of itself; NULL: nothing
    struct target_images images;
    struct process_facts process;
    struct host_facts host;
    struct capture_problem problems[CAPTURE_PROBLEMS_MAX];
    size_t problem_count;
    struct capture_timings timings;
    struct text *held; // a held_file of what the free phase needs; NULL: nothing
    uint64_t watches;  // where the table of watched objects is; 0: nowhere
};

// capture_take stops process pid and collects what a report needs but the stacks.
// capture->settings, home and crash are set by the caller, all else is zero; stop is
// set too where the threads are held already, by a tracer (stop_traced). On failure
// whatever was stopped is let go; errno says why for CH_ERR_IO.
CH_CHECKED enum ch_status capture_take(struct capture *capture, pid_t pid);

// capture_release lets a live process run on.
void capture_release(struct capture *capture);
void capture_deinit(struct capture *capture);

// capture_is_process is whether a process is held, not what is left of one.
static inline bool capture_is_process(const struct capture *capture)
{
    return capture->tier == NULL;
}

// capture_next_place gives the next place, of size bytes, that a note of that kind
// tells of, in the images from *at on, which it passes over. What is wrong with one is
// a problem. False: there is none.
bool capture_next_place(struct capture *capture, unsigned kind, size_t size, size_t *at,
                        uint64_t *out);

// capture_tier is the report's agent.tier: how the process was stopped and read.
const char *capture_tier(const struct capture *capture);

// capture_problem notes that stage ended with status; more than fit are dropped.
void capture_problem(struct capture *capture, const char *stage, const char *status,
                     uint64_t address);

// capture_clock_us is a clock for timings.
uint64_t capture_clock_us(void);
