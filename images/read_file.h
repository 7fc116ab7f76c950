// SPDX-License-Identifier: Apache-2.0
//
// Small files of /proc, read whole. Their sizes are not known beforehand and part of
// their contents is chosen by the program they describe, so every read has a limit.
#pragma once
#include <stddef.h>

#include "base/text.h"

// read_file appends at most limit_bytes of the file at path. CH_ERR_IO: it cannot be
// opened or read; errno is set. CH_ERR_LIMIT: it is longer; the first part was
// appended.
CH_CHECKED enum ch_status read_file(const char *path, size_t limit_bytes,
                                    struct text *out);

// read_process_file is read_file for /proc/PID/name.
CH_CHECKED enum ch_status read_process_file(int pid, const char *name,
                                            size_t limit_bytes, struct text *out);

// read_process_file_keep opens the file for later read_process_file of it, which then
// need not find it. The name must stay. A file of /proc is made anew when it is read,
// and belongs to the process, not to its number.
void read_process_file_keep(int pid, const char *name);

// read_process_link appends the target of the symbolic link /proc/PID/name.
CH_CHECKED enum ch_status read_process_link(int pid, const char *name,
                                            struct text *out);
