// SPDX-License-Identifier: Apache-2.0
//
// The words of a report's crash: `summary`, and of an exception `message`.
//
// Files of version 2 hold facts, and the sentence is made of them whenever a report is
// read (crash_summary.h), so that a newer reader words an old crash better. A report of
// version 1 has its sentence, and not all facts that it was made of: that one stays.
#pragma once
#include <jansson.h>

#include "report/crash_facts.h"

// crash_words_facts reads the facts of report's crash; out points into the report,
// which must be of the shape that report_parse checks.
void crash_words_facts(const json_t *report, struct crash_facts *out);

// crash_words_complete adds the words that report's crash lacks, if it has a crash.
void crash_words_complete(json_t *report);

// crash_words_leave_out takes the words out that crash_words_complete would add again.
// report's crash may be shared with another tree, which stays as it is.
void crash_words_leave_out(json_t *report);

// crash_words_begun gives how version 1 worded the crash, to be freed, where the facts
// do not say it; NULL: they do.
char *crash_words_begun(const json_t *report);

// crash_words_renew words the crash again after facts were added. begun is what
// crash_words_begun gave before.
void crash_words_renew(json_t *report, const char *begun);
