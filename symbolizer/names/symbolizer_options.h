// SPDX-License-Identifier: Apache-2.0
//
// What whoever wants names, types or values of a report says of how they are to be
// found: how much, and where the files of images are on this machine.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"
#include "symbolizer/names/debug_search.h"

// The file of an image that is not at its path any more, and where it can be opened.
struct symbolizer_held_image {
    char path[PATH_MAX];
    char place[32];
};

struct symbolizer_options {
    enum setting_symbolize level;
    const char *const *debug_dirs; // looked in before the usual places
    size_t debug_dir_count;
    const char *debuginfod_url; // NULL: no server is asked
    const char *home;           // what `~` in image paths stands for; NULL: nothing
    const char *sysroot;        // the folder image paths are under; NULL: /
    const char *exe;            // an image path that is not under sysroot; NULL: none
    const struct symbolizer_held_image *held_images; // NULL: none
    size_t held_image_count;
    bool sanitize;            // source files under home are written with `~`
    bool arguments;           // those of frames are looked for
    const char *cache_folder; // of symbol caches; NULL: none is used or written
    uint32_t timeout_ms;      // of the guarded form; 0: SYMBOLIZER_TIMEOUT_MS
};

// symbolizer_options_path is where the file of an image is on this machine: the home
// folder comes back in front of a path that was masked, then the sysroot. One that is
// held is where that is. It points to path, into buffers or into options.
const char *symbolizer_options_path(const struct symbolizer_options *options,
                                    const char *path, char buffers[2][PATH_MAX]);

// symbolizer_options_search is where options have debug files looked for.
struct debug_search symbolizer_options_search(const struct symbolizer_options *options);
