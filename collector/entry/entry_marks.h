// SPDX-License-Identifier: Apache-2.0
//
// Marks are what a report can be found by beyond its columns: the functions, files and
// builds of the crashed stack, its message, and the facts that crashes of one cause
// tend to share (kernel, thread, registers that are zero, arguments that are null).
//
// They are kept short and coarse on purpose: a group counts each distinct value, so a
// value that differs from report to report, such as an address, is not a mark. In an
// entry they stand one after the other, each with its NUL: two digits of enum
// store_facet, a space, the value (an escape in JSON would be longer). Limits:
// ENTRY_MARKS_SIZE bytes in all; what does not fit is left out.
#pragma once
#include <jansson.h>

#include "collector/entry/entry.h"
#include "collector/entry/store_facet.h"

enum { ENTRY_MARK_VALUE = 3 }; // where a mark's value begins

// entry_marks_from_report adds the marks of a report to its entry.
void entry_marks_from_report(const json_t *report, struct entry *entry);

// entry_marks_leave_out has the marks of all reports lack a kind: none can be found by
// it. It is called before any thread runs.
void entry_marks_leave_out(enum store_facet kind);
bool entry_marks_lack(enum store_facet kind);

// entry_next_mark is the mark after the given one, or the first for NULL; NULL: there
// are no more.
const char *entry_next_mark(const struct entry *entry, const char *mark);

// entry_mark_kind is the kind of a mark, one of enum store_facet.
int entry_mark_kind(const char *mark);
