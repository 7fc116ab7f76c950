// SPDX-License-Identifier: Apache-2.0
//
// The symbolizer puts names into a report: what function every frame was in, through
// which inlined calls, at which line (docs/symbolizing.md).
//
// It works on the report alone, anywhere and any time after the process is gone. All
// addresses of a report are collected first; each image is opened once, whatever the
// number of threads, and each address is looked up once. A frame that cannot be named
// keeps no `function` and says why in `symbol_status`; nothing is invented.
//
// Debug files are input of strangers. Programs call symbolizer_report_guarded, which
// reads them in a child process with limits; symbolizer_report is the work itself.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "symbolizer/names/symbolizer_options.h"

// SYMBOLIZER_TIMEOUT_MS is how long a guarded run may take when nothing else is said.
#define SYMBOLIZER_TIMEOUT_MS 60000

// symbolizer_report names the frames of report in place and sets its revision to 1.
// Names it had are replaced; frames that are missing are rebuilt from the backtrace's
// CBF. CH_ERR_MALFORMED: it is no report. With SYMBOLIZE_OFF nothing changes.
CH_CHECKED enum ch_status symbolizer_report(json_t *report,
                                            const struct symbolizer_options *options);

// symbolizer_report_guarded does the same in a child process with limits on memory and
// time. An image whose files bring the child down is left out and listed in the
// report's problems, the others are named all the same; when nothing helps the report
// stays as it was, with a problem that says so, and the status of that is returned.
CH_CHECKED enum ch_status
symbolizer_report_guarded(json_t *report, const struct symbolizer_options *options);

// symbolizer_cache_report writes the symbol caches that naming report would have used
// and did not find, in a process in the background. It is called when report has been
// answered, and returns at once.
void symbolizer_cache_report(json_t *report, const struct symbolizer_options *options);
