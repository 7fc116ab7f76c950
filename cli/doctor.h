// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook doctor` finds out: one line per thing that a report needs, whether it
// is there, and what to do where it is not.
//
// Each check tries the thing itself rather than reading about it: it stops a process,
// runs the agent, writes to the spool, asks the targets to be let in, becomes a
// service's user, crashes a program. Nothing is left behind.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "cli/session.h"

enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_NOTE,    // worth knowing, and no report is lost by it
    DOCTOR_TROUBLE, // would stop a report
};

struct doctor {
    struct session *session;
    const char *program; // to be looked at; NULL: none
    const char *user;    // that a service becomes; NULL: none
};

// What a check found.
struct doctor_finding {
    struct text line;
    struct text fix; // commands that put it right, each ended by a newline
};

// A doctor_check_fn writes what it found to out and gives its verdict.
typedef enum doctor_verdict doctor_check_fn(struct doctor *doctor,
                                            struct doctor_finding *out);

// doctor_ptrace stops and reads a process that has allowed it, as the agent would.
doctor_check_fn doctor_ptrace;

// doctor_confinement looks for a seccomp filter and for no_new_privs.
doctor_check_fn doctor_confinement;

// doctor_variables looks at the names and values of the variables that are set.
doctor_check_fn doctor_variables;

// doctor_library looks for libcrashhook.so where `crashhook run` does.
doctor_check_fn doctor_library;

// doctor_agent runs the agent.
doctor_check_fn doctor_agent;

// doctor_spool writes to the spool and looks at the room left.
doctor_check_fn doctor_spool;

// doctor_user tries as the user that a service becomes what its reports need.
doctor_check_fn doctor_user;

// doctor_targets asks every target whether it would take a report.
doctor_check_fn doctor_targets;

// doctor_core says what the kernel does with core dumps beside us.
doctor_check_fn doctor_core;

// doctor_program says what kind of program it is, and how `crashhook run` watches it.
doctor_check_fn doctor_program;

// doctor_crash crashes a program under `crashhook run` and looks for its report.
doctor_check_fn doctor_crash;

// doctor_await gives the exit code of a child, or 128 and the signal that ended it.
int doctor_await(pid_t pid);

// doctor_agent_runs is whether this process can run the agent at that path.
bool doctor_agent_runs(const char *agent);

// doctor_quote appends word as a shell takes it.
void doctor_quote(const char *word, struct text *out);

// doctor_find_user writes the user and group of that name or number.
bool doctor_find_user(const char *name, uid_t *out_user, gid_t *out_group);

// doctor_become makes this process that user's; false: it may not.
bool doctor_become(uid_t user, gid_t group);
