// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook doctor` finds: one line per thing that a report needs, whether it
// works, and what to do if not.
//
// Each check tries the thing itself and does not only read about it: it stops a
// process, runs the agent, writes to the spool, sends requests to the targets, becomes
// a service's user, crashes a program. Nothing is left behind.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "cli/session/session.h"

// A time_span is the time at which something happened, as a person remembers it:
// "12:31" stands for that minute and the minutes next to it. Both are seconds since
// 1970 and part of it.
struct time_span {
    int64_t first;
    int64_t last;
};

// time_span_read reads 12:31, 2026-11-22T12:31 (or with a blank), each also with
// seconds, in local time or, where a Z ends it, in UTC. Without a day it is the last
// such moment before now. false: text is none of these.
bool time_span_read(const char *text, int64_t now, struct time_span *out);

enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_NOTE,    // worth knowing, but no report is lost by it
    DOCTOR_TROUBLE, // would prevent a report
};

struct doctor {
    struct session *session;
    const char *program;    // program to check; NULL: none
    const char *user;       // user that a service becomes; NULL: none
    const char *pid;        // process to look at, or that left no report; NULL: none
    const char *at;         // when that process died; NULL: not told
    const char *package;    // package whose programs to check; NULL: none
    const char *kernel_log; // file in place of /dev/kmsg; NULL: none
};

// doctor_finding is what a check found.
struct doctor_finding {
    struct text line;
    struct text fix; // commands that correct it, each ended by a newline
};

// doctor_check_fn writes what it found to out and returns its verdict.
typedef enum doctor_verdict doctor_check_fn(struct doctor *doctor,
                                            struct doctor_finding *out);

// doctor_ptrace stops and reads a process that allowed it, as the agent would.
doctor_check_fn doctor_ptrace;

// doctor_confinement looks for a seccomp filter and for no_new_privs.
doctor_check_fn doctor_confinement;

// doctor_variables checks the names and values of the variables that are set.
doctor_check_fn doctor_variables;

// doctor_library looks for libcrashhook.so where `crashhook run` does.
doctor_check_fn doctor_library;

// doctor_agent runs the agent.
doctor_check_fn doctor_agent;

// doctor_spool writes to the spool, whether it answers at all, and checks the free
// space and the limit on the size of files.
doctor_check_fn doctor_spool;

// doctor_user tries what reports need as the user that a service becomes.
doctor_check_fn doctor_user;

// doctor_targets asks every target whether it would take a report.
doctor_check_fn doctor_targets;

// doctor_core reports what the kernel does with core dumps.
doctor_check_fn doctor_core;

// doctor_program reports what kind of program it is, and how `crashhook run` watches
// it.
doctor_check_fn doctor_program;

// doctor_container reports what a container that this runs in does to reports.
doctor_check_fn doctor_container;

// doctor_package reports how the programs of a package of Debian's would be watched.
doctor_check_fn doctor_package;

// doctor_process reports what would stop a report of a process that lives, and of one
// that has died what doctor_gone says.
doctor_check_fn doctor_process;

// doctor_gone says from the spool, the kernel's log and the agent's why there is no
// report of process pid, which died within span; NULL: at any time.
enum doctor_verdict doctor_gone(struct doctor *doctor, pid_t pid,
                                const struct time_span *span,
                                struct doctor_finding *out);

// doctor_crash crashes a program under `crashhook run` and looks for its report.
doctor_check_fn doctor_crash;

// doctor_library_reports crashes a program with that library of the handler, which
// looks for its own agent, and adds to line what became of it.
bool doctor_library_reports(const char *library, struct text *line);

// doctor_await returns the exit code of a child, or 128 plus the signal that ended it.
int doctor_await(pid_t pid);

// doctor_agent_runs returns true if this process can run the agent at that path.
bool doctor_agent_runs(const char *agent);

// doctor_find_agent returns true if a path that fits is one of those where the handler
// looks for an agent: from folder, which ends with a slash, or where it is installed.
// root is in front of all of them; it may be empty.
bool doctor_find_agent(const char *root, const char *folder,
                       bool (*fits)(const char *path));

// doctor_find_user finds the user and group of a user's name or number.
bool doctor_find_user(const char *name, uid_t *out_user, gid_t *out_group);

// doctor_become makes this process run as that user; false: it may not.
bool doctor_become(uid_t user, gid_t group);
