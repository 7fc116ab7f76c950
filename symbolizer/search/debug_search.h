// SPDX-License-Identifier: Apache-2.0
//
// The input and the result of a search for debug files: the wanted build, the locations
// to search, the outcome. This header is shared by all code that needs names, so that
// none of it needs the headers of the libraries that read the files.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings/settings.h"

enum { BUILD_ID_MAX = 64 };

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; // 0: there is none
};

// build_id_equal returns true if both build IDs are present and equal.
bool build_id_equal(const struct build_id *a, const struct build_id *b);

// debug_status holds why an image's code has no names, in order from nothing wrong to
// nothing there.
enum debug_status {
    DEBUG_FOUND,         // debug information was found
    DEBUG_SPLIT_PACKAGE, // the code's is in a package of split files, not supported
    DEBUG_NO_SPLIT_FILE, // the code's is in a split file that was not found
    DEBUG_SYMBOLS_ONLY,  // a symbol table and no debug information
    DEBUG_NOT_INSTALLED, // stripped; the debug file it names was not found
    DEBUG_STRIPPED,      // stripped, and no debug file was found
    DEBUG_MISMATCHED,    // the file is of another build
    DEBUG_COMPRESSED,    // its debug information, by a method that is not supported
    DEBUG_DAMAGED,       // the file cannot be read
    DEBUG_NO_FILE,       // no file
    DEBUG_NO_IMAGE,      // no image of the report contains the address
};

// debug_status_name gives the word in reports ("mismatched-build-id").
const char *debug_status_name(enum debug_status status);

// A debug_search says where to look for debug files other than in the usual locations.
struct debug_search {
    const char *const *debug_dirs;
    size_t debug_dir_count;
    const char *debuginfod_url; // NULL: no server is asked
    const char *cache_folder;   // of symbol caches; NULL: none is used
    bool alone;        // debug_dirs are searched by build ID; no other file is opened
    bool plain;        // of a cached file that has no symbols, the rest is read
    bool anew;         // what the symbol cache says is not wanted
    bool no_raw_names; // frames from a cache need no raw_name, which is then NULL
};

// Options for finding names, types or values of a report: how much to look for, and
// where the files of images are on this machine.

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
        *memo; // names of earlier reports (symbolization.h); NULL: none
};

// symbolizer_options_path gives the path of an image's file on this machine: the home
// folder is restored in a masked path, and sysroot is prefixed. For a held image it
// gives that path. The result is path, in one of buffers, or in options.
const char *symbolizer_options_path(const struct symbolizer_options *options,
                                    const char *path, char buffers[2][PATH_MAX]);

// symbolizer_options_search gives the search for debug files that options describe.
struct debug_search symbolizer_options_search(const struct symbolizer_options *options);
