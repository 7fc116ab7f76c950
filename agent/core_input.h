// SPDX-License-Identifier: Apache-2.0
//
// A core that comes through a pipe, kept in a file without a name until it is read.
//
// Pages of zeroes become holes. The file is gone when we are, however we end.
#pragma once
#include <stdint.h>

#include "base/status.h"

// CORE_INPUT_LIMIT_BYTES is how much of a core is kept on disk; what is past it is
// missing from the report, and the report says so.
#define CORE_INPUT_LIMIT_BYTES (UINT64_C(8) << 30)

// CORE_INPUT_MEMORY_BYTES is the same where no folder takes the file and it is kept in
// memory.
#define CORE_INPUT_MEMORY_BYTES (UINT64_C(512) << 20)

// core_input_keep reads the pipe from to its end into a file in folder, else in memory.
// CH_ERR_IO: errno says why neither can be had, or why from cannot be read.
CH_CHECKED enum ch_status core_input_keep(int from, const char *folder, int *out_fd);
