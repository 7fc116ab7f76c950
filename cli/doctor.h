// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook doctor` finds out: one line per thing that a report needs, whether it
// is there, and what to do where it is not.
//
// Each check tries the thing itself rather than reading about it: it stops a process,
// runs the agent, writes to the spool, asks the targets, crashes a program. Nothing is
// left behind.
#pragma once
#include "base/text.h"
#include "cli/session.h"

enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_NOTE,    // worth knowing, and no report is lost by it
    DOCTOR_TROUBLE, // would stop a report
};

// A doctor_check_fn appends what it found to line and gives its verdict.
typedef enum doctor_verdict doctor_check_fn(struct session *session, struct text *line);

// doctor_ptrace stops and reads a process that has allowed it, as the agent would.
doctor_check_fn doctor_ptrace;

// doctor_confinement looks for a seccomp filter and for no_new_privs.
doctor_check_fn doctor_confinement;

// doctor_library looks for libcrashhook.so where `crashhook run` does.
doctor_check_fn doctor_library;

// doctor_agent runs the agent.
doctor_check_fn doctor_agent;

// doctor_spool writes to the spool and looks at the room left.
doctor_check_fn doctor_spool;

// doctor_targets asks every target whether it is there.
doctor_check_fn doctor_targets;

// doctor_core says what the kernel does with core dumps beside us.
doctor_check_fn doctor_core;

// doctor_crash crashes a program under `crashhook run` and looks for its report.
doctor_check_fn doctor_crash;
