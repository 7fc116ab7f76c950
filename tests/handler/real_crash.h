// SPDX-License-Identifier: Apache-2.0
//
// Runs a real program until it crashes, and says how it ended and what reached the
// agent.
//
// The program is victim or another of tests/handler; the agent is probe_agent,
// behaving as told. Each run has a folder of its own, where core dumps and records
// land, and which real_crash_end removes.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct real_crash {
    // What to run.
    const char *program;       // NULL: victim
    const char *way;           // its first argument
    const char *agent_way;     // of probe_agent; NULL: answers at once
    const char *agent;         // path; NULL: probe_agent
    const char *variables[12]; // NAME=value, until NULL
    bool dlopens; // the program loads the library itself, instead of a preload
    bool bare;    // no library at all: what the kernel alone does
    bool core_allowed;
    bool no_standard_files;  // 0, 1 and 2 are closed at start
    bool first_of_namespace; // PID 1

    // How it went.
    char folder[64];
    int status;          // as waitpid gave it
    double ms;           // until the process was gone
    double output_ms;    // until nobody held its standard output any more
    char output[4096];   // what it wrote there
    char errors[4096];   // and on standard error
    char records[65536]; // what the agents wrote down
    int record_count;
    bool core_found;
};

// real_crash_prepare makes the folder, where a test may put files first.
void real_crash_prepare(struct real_crash *run);

// real_crash_start starts it, its standard output being a pipe.
void real_crash_start(struct real_crash *run);

// real_crash_pid is the pid of the running program.
int real_crash_pid(const struct real_crash *run);

// real_crash_read waits for the next line of its output, which stays in output.
void real_crash_read(struct real_crash *run);

// real_crash_finish waits for its end and fills in how it went.
void real_crash_finish(struct real_crash *run);

// real_crash does all of that.
void real_crash(struct real_crash *run);

// real_crash_end removes the folder.
void real_crash_end(struct real_crash *run);

// real_crash_says: the first record holds this key=value.
bool real_crash_says(const struct real_crash *run, const char *pair);
