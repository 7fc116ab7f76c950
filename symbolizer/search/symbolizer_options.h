// SPDX-License-Identifier: Apache-2.0
//
// Options for finding names, types or values of a report: how much to look for, and
// where the files of images are on this machine.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings/settings.h"
#include "symbolizer/search/debug_search.h"

// A symbolizer_held_image is the file of an image that is no longer at its path, and
// where it can be opened.
struct symbolizer_held_image {
    char path[PATH_MAX];
    char place[32];
};

struct symbolization_memo;

struct symbolizer_options {
    enum setting_symbolize level;
    const char *const *debug_dirs; // searched before the usual locations
    size_t debug_dir_count;
    bool alone; // debug_dirs are searched by build ID; no other file is opened
    const char *debuginfod_url; // NULL: no server is asked
    const char *home;           // replaces `~` in image paths; NULL: no replacement
    const char *sysroot;        // the folder image paths are relative to; NULL: /
    const char *swift_library;  // that demangles Swift's names; NULL: the system's
    const char *exe;            // an image path not under sysroot; NULL: none
    const struct symbolizer_held_image *held_images; // NULL: none
    size_t held_image_count;
    bool sanitize;  // source files under home are written with `~`
    bool arguments; // look for the arguments of frames
    bool single;    // one thread alone looks up names (symbolizer_report_guarded.c)
    const char *cache_folder; // of symbol caches; NULL: none is used or written
    uint32_t timeout_ms;      // of a guarded run; 0: SYMBOLIZER_TIMEOUT_MS
    struct symbolization_memo
        *memo; // names of earlier reports (symbolization_memo.h); NULL: none
};

// symbolizer_options_path gives the path of an image's file on this machine: the home
// folder is restored in a masked path, and sysroot is prefixed. For a held image it
// gives that path. The result is path, in one of buffers, or in options.
const char *symbolizer_options_path(const struct symbolizer_options *options,
                                    const char *path, char buffers[2][PATH_MAX]);

// symbolizer_options_search gives the search for debug files that options describe.
struct debug_search symbolizer_options_search(const struct symbolizer_options *options);
