// SPDX-License-Identifier: Apache-2.0
//
// What the agent may do to a process: which calls a seccomp filter permits, and why the
// kernel refuses to let it trace.
//
// The agent inherits the filter of the program
// that started it. A call that the filter answers with a signal would end the report,
// while one refused with an error only makes the agent try another way. So, where there
// is a filter, a child tries such a call first.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// A permitted_call is one that a child tries; PERMITTED_RIGHTS: those that take the
// rights of a thread.
enum permitted_call { PERMITTED_PTRACE, PERMITTED_READV, PERMITTED_RIGHTS };

// permitted_expect_filter records that there may be a filter. Querying for one would
// itself be a call to be filtered.
void permitted_expect_filter(void);

// permitted_all returns true if no filter is expected: everything may be called.
bool permitted_all(void);

// permitted returns true if a call may be made: it may still fail, but does not kill.
bool permitted(enum permitted_call call);

// Why the kernel does not let us trace a process, as a message for the report: another
// tracer is attached, or a seccomp filter or Yama forbids it.

enum { REFUSAL_MAX = 128 };

// refusal_other_tracer is the other process that traces pid; 0: none, or /proc does not
// say.
pid_t refusal_other_tracer(pid_t pid);

// refusal_explain writes why tracing pid failed with error, an errno; 0: it was not
// tried, because there are no other threads.
void refusal_explain(pid_t pid, int error, char out[static REFUSAL_MAX]);
