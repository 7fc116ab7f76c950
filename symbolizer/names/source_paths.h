// SPDX-License-Identifier: Apache-2.0
//
// The source files in the line tables of a debug file: those that a frame's `file` may
// name, spelled in the same way.
//
// The debug file is read in a child process with limits. Users: `crashhook symbols
// upload --sources`.
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

// SOURCE_PATHS_MAX limits their number, SOURCE_PATHS_TIMEOUT_MS the time.
enum { SOURCE_PATHS_MAX = 65536, SOURCE_PATHS_TIMEOUT_MS = 120000 };

// source_paths_read stores an object whose keys are the paths, which the caller owns.
// CH_ERR_NOT_FOUND: the file at path has no line tables. CH_ERR_FAULT, CH_ERR_LIMIT: it
// crashed the child, or took too long.
CH_CHECKED enum ch_status source_paths_read(const char *path, json_t **out);
