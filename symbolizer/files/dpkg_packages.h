// SPDX-License-Identifier: Apache-2.0
//
// The packages that files belong to, by the database of Debian's dpkg. No program is
// run: dpkg has a list of paths for each package, and one file with what it knows of
// all of them.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    DPKG_FILES_MAX = 64, // whose packages are looked for at once
    DPKG_TIMEOUT_MS = 300,
};

// A dpkg_file is a file whose package is looked for.
struct dpkg_file {
    const char *path; // as programs map it
    json_t *package;  // type, name, version, architecture, and that dpkg is the
                      // source; NULL: not known
};

// dpkg_packages_find looks for the packages of at most DPKG_FILES_MAX files in the
// database below the folder root, "" for this system's. An index of the lists is made
// if cache_folder (of symbol caches, NULL: none) has none of their state. What is not
// in it after DPKG_TIMEOUT_MS is not found. The caller owns the packages.
void dpkg_packages_find(const char *root, const char *cache_folder,
                        struct dpkg_file *files, size_t count);

// dpkg_packages_index makes the index of this system's lists in cache_folder, so that
// no crash has to; for everybody: readable by all users, as symbol_cache_folder_share
// has it.
void dpkg_packages_index(const char *cache_folder, bool for_everybody);
