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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/settings.h"
#include "base/status.h"
#include "symbolizer/debug_search.h"

struct symbolizer_options {
    enum setting_symbolize level;
    const char *const *debug_dirs; // looked in before the usual places
    size_t debug_dir_count;
    const char *debuginfod_url; // NULL: no server is asked
    const char *home;           // what `~` in image paths stands for; NULL: nothing
    const char *sysroot;        // the folder image paths are under; NULL: /
    const char *exe;            // an image path that is not under sysroot; NULL: none
    bool sanitize;              // source files under home are written with `~`
    bool arguments;             // report_values_add looks for those of frames
    const char *cache_folder;   // of symbol caches; NULL: none is used or written
    uint32_t timeout_ms;        // of the guarded form; 0: SYMBOLIZER_TIMEOUT_MS
};

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

// symbolizer_cache_image does the same for the image at path, of the build id.
void symbolizer_cache_image(const char *path, const struct build_id *id,
                            const struct debug_search *search);

// symbolizer_write_cache writes the cache of one image here and now. CH_ERR_NOT_FOUND:
// there is one, or somebody else is at it. CH_ERR_UNSUPPORTED: it is not worth one.
CH_CHECKED enum ch_status symbolizer_write_cache(const char *path,
                                                 const struct build_id *id,
                                                 const struct debug_search *search);

// symbolizer_write_plain writes the debug information of one image where it is
// compressed and the caches do not have it.
void symbolizer_write_plain(const char *path, const struct build_id *id,
                            const struct debug_search *search);
