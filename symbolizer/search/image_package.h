// SPDX-License-Identifier: Apache-2.0
//
// The package that an image's file was built for, as its package note says: a JSON
// object in an ELF note of owner "FDO" that Fedora puts in all files, and others in
// some (`ld --package-metadata`, https://systemd.io/ELF_PACKAGE_METADATA). What is a
// program's own depends on it (report/grouping/in_app.h).
#pragma once
#include <jansson.h>

#include "symbolizer/search/debug_search.h"

// image_package_read gives what the note of the file at path says of type, name,
// version, architecture, os and osVersion, as an object of strings. NULL: there is no
// note with a name, or the file is of another build.
json_t *image_package_read(const char *path, const struct build_id *id);
