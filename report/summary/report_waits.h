// SPDX-License-Identifier: Apache-2.0
//
// The waits of a report's threads in words, and the deadlock that some of them may be.
//
// Only facts are in a report; these functions word them for the terminal, the pages and
// other systems. A sentence names at most six threads of a deadlock.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

// report_waits is the array of who waits for what, or NULL: of the crash, or of a live
// process.
json_t *report_waits(const json_t *report);

// report_wait_thread is the thread that waits, or NULL.
const json_t *report_wait_thread(const json_t *report, const json_t *wait);

// report_wait_append appends what is waited for: "waits for m, which thread 7 holds".
void report_wait_append(const json_t *wait, struct text *out);

// report_deadlock appends the sentence for threads that wait for one another, and
// returns true; false: there are none.
bool report_deadlock(const json_t *report, struct text *out);
