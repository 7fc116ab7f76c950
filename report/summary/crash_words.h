// SPDX-License-Identifier: Apache-2.0
//
// The words of a report's crash: `summary` and, for an exception, `message`.
//
// Files of version 2 hold facts, and the sentence is made from them whenever a report
// is read (crash_summary.h), so that a newer reader words an old crash better. A report
// of version 1 has its sentence but not all the facts it was made from: its sentence is
// kept.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "report/summary/crash_facts.h"

// crash_words_kind is crash.kind; NULL has none. crash_words_set_kind replaces it.
enum crash_kind crash_words_kind(const json_t *crash);
void crash_words_set_kind(json_t *crash, enum crash_kind kind);

// crash_words_is_kind returns true if the crash is of one of kinds (CRASH_KIND_BIT).
bool crash_words_is_kind(const json_t *crash, uint64_t kinds);

// crash_words_is_in_data returns true if the program went, by a call or a return, to
// where data is and not code.
bool crash_words_is_in_data(const json_t *crash);

// crash_words_is_variable returns true if value, from a process that is not trusted,
// has the form of crash.variable.
bool crash_words_is_variable(const json_t *value);

// crash_words_is_nearest returns true if value, likewise, has the form of
// crash.nearest.
bool crash_words_is_nearest(const json_t *value);

// crash_words_heap reads the block that was misused; out points into crash.
void crash_words_heap(const json_t *crash, struct crash_heap *out);

// crash_words_complete adds the words that report's crash lacks, if it has a crash.
void crash_words_complete(json_t *report);

// crash_words_leave_out removes the words that crash_words_complete would add again. It
// does not modify report's crash in place, because another tree may share it.
void crash_words_leave_out(json_t *report);

// crash_words_begun returns how version 1 worded the crash, to be freed, if the facts
// do not give the same; NULL: they do.
char *crash_words_begun(const json_t *report);

// crash_words_renew words the crash again after facts were added. begun is the result
// of crash_words_begun before that.
void crash_words_renew(json_t *report, const char *begun);

// The memory of a process that was killed over its last minute (process.memory), in a
// line: from and to, its peak and a curve of bars. Users: terminal, pages, log records.

// memory_words_append appends such a line; false: the report has no samples.
bool memory_words_append(const json_t *report, struct text *out);
