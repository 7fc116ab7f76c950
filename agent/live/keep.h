// SPDX-License-Identifier: Apache-2.0
//
// What every supervisor of a process does (`crashhook run`, the tracer, the waiting
// agent): it looks at the process once in a while, notes which process asks it to end,
// and at its end says what it saw. All of it is a context_liveness, which those that
// can also write into the process's liveness record in the spool, for the case that
// they are killed with it.
//
// A look reads small files of /proc and the cgroup; the process is not touched.
#pragma once
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "shared/context_page.h"

// The memory that a process and its cgroup use, and what happens in that cgroup, read
// from outside once in a while, for the report of a process that is killed: by then
// nothing of it can be read any more.
//
// Both versions of cgroups count. In a container the cgroup's own folder may be the
// root of what is mounted, so that is looked at where the path is not there. The files
// belong to the kernel, but a container may have others mounted over them: numbers that
// are none count as not known.

struct usage {
    pid_t pid;
    bool unified;            // cgroup v2
    char folder[PATH_MAX];   // its memory cgroup; empty: none
    size_t root_size;        // of the part of folder that is the hierarchy's root
    size_t limited_size;     // of the part that is the group with the lowest limit
    char pressure[PATH_MAX]; // the file that says how long tasks wait for memory
    uint32_t found_in;       // checksum of /proc/PID/cgroup
};

// usage_find does so for a process whose /proc/PID/cgroup is lines, where /sys and
// /proc are in the folder root, the empty string for this machine's.
void usage_find(struct usage *out, const char *root, const char *lines);

// usage_sample does so and adds a sample to liveness. rss_bytes 0: it is read. Of a
// process that has ended only that is known.
void usage_sample(const struct usage *usage, uint64_t rss_bytes,
                  struct context_liveness *liveness);

// usage_sample_end adds the sample of a process that is held while it exits: its peak
// where the kernel killed it for memory (liveness->events). There is none where the
// kernel has begun to empty it, which it does from 2 s after such a kill on.
void usage_sample_end(const struct usage *usage, struct context_liveness *liveness);

// usage_events reads what has happened in the cgroup since it was made; a cgroup of
// version 1 reports neither kills of a group nor those of systemd-oomd.
void usage_events(const struct usage *usage, struct liveness_events *out);

// usage_events_since makes *now what has happened since before.
void usage_events_since(const struct liveness_events *before,
                        struct liveness_events *now);

struct keep {
    struct usage usage;
    struct liveness_events before; // in its cgroup, when it was first looked at
    bool freed; // its first thread did not sleep uninterruptibly at the last look
    struct context_liveness liveness;
};

// keep_begin begins to keep process pid.
void keep_begin(struct keep *keep, pid_t pid, enum liveness_supervisor as);

// keep_pause_ms is how long to wait until the next look, after one that came pause_ms
// after the one before: a program that fills its memory at once is looked at often.
uint64_t keep_pause_ms(uint64_t pause_ms);

// keep_look looks at the process unless it has ended.
void keep_look(struct keep *keep);

// keep_follow follows the process into another cgroup than it was in; a look does too.
void keep_follow(struct keep *keep);

// keep_asked notes a signal that the process is sent. False: it asks for no end.
bool keep_asked(struct keep *keep, int signal, const siginfo_t *info);

// keep_note_sender takes over the sender that the program's liveness record names, if
// that is later than what the supervisor has seen.
void keep_note_sender(struct context_liveness *liveness,
                      const struct context_liveness *told);

// keep_end notes that the process was ended by signal, or is about to. What can still
// be read of it is read.
void keep_end(struct keep *keep, int signal);

// keep_parse_status reads /proc/PID/status of a process that cannot take its signals,
// and notes whether one that requests it to end is pending.
void keep_parse_status(const char *status, struct context_liveness *liveness);
