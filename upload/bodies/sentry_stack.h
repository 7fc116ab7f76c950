// SPDX-License-Identifier: Apache-2.0
//
// A thread's backtrace in the order of Sentry's stack traces: outermost frame first,
// the frame that crashed last, inlined calls after the frame they were inlined into.
#pragma once
#include <jansson.h>
#include <stddef.h>

// sentry_stack_make makes the stack trace of thread with at most frames_max frames,
// without those in the middle, or returns NULL if the thread has none or memory is
// short. The program's own among the innermost sources_max frames get their lines of
// source.
json_t *sentry_stack_make(const json_t *report, const json_t *thread, size_t frames_max,
                          size_t sources_max);
