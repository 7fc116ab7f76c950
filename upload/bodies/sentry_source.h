// SPDX-License-Identifier: Apache-2.0
//
// The lines of source around a frame, as Sentry shows them.
//
// Limits: five lines before and after, 256 bytes of each. Users: stacks of events.
#pragma once
#include <jansson.h>

// sentry_source_add adds context_line, pre_context and post_context to a frame of
// Sentry's, where the file that was built is on this machine. Of a program of another
// user nothing is read: the sender of a report may be allowed to read more than it was.
void sentry_source_add(json_t *to, const json_t *report, const json_t *frame);
