// SPDX-License-Identifier: Apache-2.0
//
// The input and the result of a search for debug files: the wanted build, the locations
// to search, the outcome. This header is shared by all code that needs names, so that
// none of it needs the headers of the libraries that read the files.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 64 };

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; // 0: there is none
};

// build_id_equal says whether both build IDs are present and equal.
bool build_id_equal(const struct build_id *a, const struct build_id *b);

// debug_status says why an image's code has no names, in order from nothing wrong to
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
    bool plain;        // a cached file without symbols is enough
    bool anew;         // what the symbol cache says is not wanted
    bool no_raw_names; // frames from a cache need no raw_name, which is then NULL
};
