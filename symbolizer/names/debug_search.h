// SPDX-License-Identifier: Apache-2.0
//
// What a search for debug files is told and what it answers: the build wanted, the
// places to look in, how it went. Shared by whoever asks for names, so that none of
// them needs the headers of the libraries that read the files.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 64 };

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; // 0: there is none
};

// build_id_equal is true for two build IDs that are there and equal.
bool build_id_equal(const struct build_id *a, const struct build_id *b);

// Why an image's code has no names. The order is from nothing wrong to nothing there.
enum debug_status {
    DEBUG_FOUND,         // debug information was found
    DEBUG_SPLIT_PACKAGE, // the code's is in a package of split files, which is not read
    DEBUG_NO_SPLIT_FILE, // the code's is in a split file that was not found
    DEBUG_SYMBOLS_ONLY,  // a symbol table and no debug information
    DEBUG_NOT_INSTALLED, // stripped; the debug file it names was not found
    DEBUG_STRIPPED,      // stripped, and no debug file was found
    DEBUG_MISMATCHED,    // the file there is of another build
    DEBUG_DAMAGED,       // the file there cannot be read
    DEBUG_NO_FILE,       // no file
    DEBUG_NO_IMAGE,      // the address is in no image of the report
};

// debug_status_name is how reports spell it ("mismatched-build-id").
const char *debug_status_name(enum debug_status status);

// Where debug files are looked for beside the usual places.
struct debug_search {
    const char *const *debug_dirs;
    size_t debug_dir_count;
    const char *debuginfod_url; // NULL: no server is asked
    const char *cache_folder;   // of symbol caches; NULL: none is used
    bool plain; // debug information from there will do: without lines and symbols
};
