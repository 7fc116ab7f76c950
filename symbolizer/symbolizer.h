// SPDX-License-Identifier: Apache-2.0
//
// The symbolizer adds names to a report: the function of every frame, the calls inlined
// there, the source line (docs/symbolizing.md).
//
// It needs only the report, and works anywhere and at any time after the process has
// ended. All addresses of a report are collected first; each image is opened once,
// whatever the number of threads, and each address is looked up once. A frame that
// cannot be named has no `function`, and its `symbol_status` says why; nothing is
// guessed.
//
// Debug files are untrusted input. Programs call symbolizer_report_guarded, which reads
// them in a child process with limits; symbolizer_report does the work itself.
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/search/debug_search.h"

// SYMBOLIZER_TIMEOUT_MS is the default time limit of a guarded run.
#define SYMBOLIZER_TIMEOUT_MS 60000

// symbolizer_report names the frames of report in place and sets its revision to 1. It
// replaces existing names, and restores missing frames from the backtrace's CBF.
// CH_ERR_MALFORMED: not a report. With SYMBOLIZE_OFF nothing changes.
CH_CHECKED enum ch_status symbolizer_report(json_t *report,
                                            const struct symbolizer_options *options);

// symbolizer_report_guarded does the same in a child process with limits on memory and
// time. An image whose files crash the child is excluded and listed in the report's
// problems, and the others are named without it. If that does not help either, the
// report stays unchanged except for a problem that says so, and the status of the
// failure is returned.
CH_CHECKED enum ch_status
symbolizer_report_guarded(json_t *report, const struct symbolizer_options *options);

// symbolizer_cache_report writes the symbol caches that symbolization report needed and
// did not find, in a background process. It is called after report has been delivered,
// and returns at once.
void symbolizer_cache_report(json_t *report, const struct symbolizer_options *options);

// report_values_add adds the values that held, a held_file of size bytes, provides to
// report: the arguments of its frames, and the objects that the program watches, made
// from the memory that was copied while the process was held (docs/types.md). This is
// done once, while that memory is available. Debug information is read in a guarded
// child, so that the report survives any failure; failures are added to its problems.
void report_values_add(json_t *report, const struct symbolizer_options *options,
                       const void *held, size_t size);
