// SPDX-License-Identifier: Apache-2.0
//
// Why the kernel does not let us trace a process, as a sentence for the report: another
// tracer is attached, or a seccomp filter or Yama forbids it.
#pragma once
#include <stddef.h>
#include <sys/types.h>

enum { REFUSAL_MAX = 128 };

// refusal_other_tracer is the other process that traces pid; 0: none, or /proc does not
// tell.
pid_t refusal_other_tracer(pid_t pid);

// refusal_explain writes why tracing pid failed with error, an errno; 0: it was not
// tried, because there are no other threads.
void refusal_explain(pid_t pid, int error, char out[static REFUSAL_MAX]);
