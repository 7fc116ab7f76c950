// SPDX-License-Identifier: Apache-2.0
//
// The end of a process that no handler saw: it was killed. What its keeper knows
// (`crashhook run`, the tracer), or what its life in the spool and the kernel tell
// afterwards, is judged here to a kind, a cause and a sentence, and written into the
// report as crash.death, with the memory that it used over its last minute.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "report/json/json_writer.h"
#include "shared/context_page.h"
#include "shared/crash_kinds.h"

struct death {
    // Facts that whoever tells of it sets.
    pid_t pid;
    enum life_keeper keeper;
    int signal;           // by which it ended, as its keeper saw; 0: nobody did
    uint64_t realtime_ns; // when
    uint64_t started_ns;  // of CLOCK_BOOTTIME; 0: not known
    int crash_signal; // of its crash, which was not reported before it ended; 0: none
    // An exit that is a failure: what the program said of it. kind is set then.
    bool exits;
    int exit_status;     // of exits and crash_signal; -1: none, as of a thread
    struct text message; // its last words
    struct text said;    // the end of its standard error
    struct context_life life;

    // What death_judge makes of them.
    enum crash_kind kind;
    const char *cause;
    char kernel[256]; // what the kernel's log says; empty: nothing
    struct text summary;
};

// death_is_kill is whether an end by this signal is one that nobody who sends it waits
// for: other deadly signals end a program as somebody wanted.
bool death_is_kill(int signal);

// death_is_by_kernel is whether the kernel or systemd-oomd has killed the process, for
// memory or processor time. killed_before: how many kills for memory its cgroup had
// before.
bool death_is_by_kernel(const struct death *death, uint64_t killed_before);

// death_judge determines the rest from the facts, and asks the kernel's log.
void death_judge(struct death *death);
void death_deinit(struct death *death);

// death_write writes crash.summary and crash.death.
struct capture;
void death_write(struct json_writer *w, const struct capture *capture);

// death_write_memory writes process.memory: samples of the last minute, oldest first.
void death_write_memory(struct json_writer *w, const struct death *death);
