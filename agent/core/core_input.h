// SPDX-License-Identifier: Apache-2.0
//
// A core that comes through a pipe, kept in a file without a name until it is read.
//
// Pages of zeroes become holes. The file is gone when we are, however we end.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// CORE_INPUT_LIMIT_BYTES is how much of a core is kept on disk; what is past it is
// missing from the report, and the report says so.
#define CORE_INPUT_LIMIT_BYTES (UINT64_C(8) << 30)

// CORE_INPUT_MEMORY_BYTES is the same where no folder takes the file and it is kept in
// memory.
#define CORE_INPUT_MEMORY_BYTES (UINT64_C(512) << 20)

// Where a core goes: opened by whoever may write there, filled by whoever reads the
// core.
struct core_input {
    int fd;
    uint64_t limit_bytes;
};

// core_input_open makes the file in folder, else in memory. False: errno says why
// neither can be had.
bool core_input_open(const char *folder, struct core_input *out);

// core_input_fill reads the pipe from to its end into the file. CH_ERR_IO: errno says
// why from cannot be read.
CH_CHECKED enum ch_status core_input_fill(const struct core_input *input, int from);

// core_input_keep reads the pipe from to its end into a file in folder, else in memory.
// CH_ERR_IO: errno says why neither can be had, or why from cannot be read.
CH_CHECKED enum ch_status core_input_keep(int from, const char *folder, int *out_fd);
