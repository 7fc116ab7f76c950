// SPDX-License-Identifier: Apache-2.0
//
// Source files that a report or a debug file names: a stranger's, so what is no source
// by its name is not opened, and what is no plain file is not read.
//
// Users: the lines beside a frame (render_source.h), `symbols upload --sources`.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

// source_file_open opens the source at path for reading, closed by fclose.
// CH_ERR_UNSUPPORTED: by its name it is none, or the path is relative.
// CH_ERR_NOT_FOUND: there is no such file that can be read, or it is no plain one.
// CH_ERR_LIMIT: it is larger than limit_bytes.
CH_CHECKED enum ch_status source_file_open(const char *path, uint64_t limit_bytes,
                                           FILE **out);
