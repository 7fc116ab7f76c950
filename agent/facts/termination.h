// SPDX-License-Identifier: Apache-2.0
//
// The end of a process that no handler saw: it was killed. What its supervisor knows
// (`crashhook run`, the tracer), or what its liveness record in the spool and the
// kernel tell afterwards, is judged here to a kind, a cause and a sentence, and written
// into the report as crash.death, with the memory that it used over its last minute.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "report/json/json_writer.h"
#include "shared/context_page.h"
#include "shared/crash_kinds.h"

struct termination {
    // Facts that whoever tells of it sets.
    pid_t pid;
    enum liveness_supervisor supervisor;
    int signal;           // by which it ended, as its supervisor saw; 0: nobody did
    uint64_t realtime_ns; // when
    uint64_t started_ns;  // of CLOCK_BOOTTIME; 0: not known
    int crash_signal; // of its crash, which was not reported before it ended; 0: none
    // An exit that is a failure: what the program said of it. kind is set then.
    bool exits;
    int exit_status;     // of exits and crash_signal; -1: none, as of a thread
    struct text message; // its last words
    struct text said;    // the end of its standard error
    struct context_liveness liveness;

    // What termination_judge makes of them.
    enum crash_kind kind;
    const char *cause;
    char kernel[256]; // what the kernel's log says; empty: nothing
    struct text summary;
};

// termination_is_kill returns true if an end by this signal is one that nobody who
// sends it waits for: other deadly signals end a program as somebody wanted.
bool termination_is_kill(int signal);

// termination_is_by_kernel returns true if the kernel or systemd-oomd has killed the
// process, for memory or processor time. killed_before: how many kills for memory its
// cgroup had before.
bool termination_is_by_kernel(const struct termination *termination,
                              uint64_t killed_before);

// termination_judge determines the rest from the facts, and asks the kernel's log.
void termination_judge(struct termination *termination);
void termination_deinit(struct termination *termination);

// termination_write writes crash.summary and crash.death.
struct capture;
void termination_write(struct json_writer *w, const struct capture *capture);

// termination_write_memory writes process.memory: samples of the last minute, oldest
// first.
void termination_write_memory(struct json_writer *w,
                              const struct termination *termination);

// What the kernel's log says of a process that it killed for memory. Not everybody may
// read that log, and in a container it has the host's numbers, so it is a witness more
// where it can be asked.

// kernel_log_find_oom copies the last line of log by which the kernel said that it
// killed process pid for memory since since_ns (of CLOCK_BOOTTIME), without its time.
// False: there is none.
bool kernel_log_find_oom(const char *log, pid_t pid, uint64_t since_ns, char *out,
                         size_t size);
