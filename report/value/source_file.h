// SPDX-License-Identifier: Apache-2.0
//
// Source files that a report or a debug file names. The names come from strangers, so a
// file that is not a source by its name is not opened, and one that is not a regular
// file is not read.
//
// Users: the lines beside a frame (frame_source.h), `symbols upload --sources`.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

// source_file_open opens the source at path for reading; close it with fclose.
// CH_ERR_UNSUPPORTED: its name is not that of a source, or the path is relative.
// CH_ERR_NOT_FOUND: there is no such file, or it cannot be read, or is not a regular
// one. CH_ERR_LIMIT: it is larger than limit_bytes.
CH_CHECKED enum ch_status source_file_open(const char *path, uint64_t limit_bytes,
                                           FILE **out);
