// SPDX-License-Identifier: Apache-2.0
//
// A core that arrives through a pipe, kept in an unnamed file until it is read.
//
// Pages of zeroes become holes. The file vanishes with this process, however that ends.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// CORE_INPUT_LIMIT_BYTES is how much of a core is kept on disk; what is past it is
// missing from the report, and the report says so.
#define CORE_INPUT_LIMIT_BYTES (UINT64_C(8) << 30)

// CORE_INPUT_MEMORY_BYTES is the limit where no folder accepts the file and it is kept
// in memory.
#define CORE_INPUT_MEMORY_BYTES (UINT64_C(512) << 20)

// A core_input is where a core goes. One process may open it, with the rights to write
// there, and another fill it.
struct core_input {
    int fd;
    uint64_t limit_bytes;
    uint64_t start; // bytes of the core that the file has already
};

// core_input_open creates the file in folder, otherwise in memory. False: neither is
// possible, and errno is set.
bool core_input_open(const char *folder, struct core_input *out);

// core_input_fill copies the pipe from to the file, after its start, until its end.
// CH_ERR_IO: from cannot be read; errno is set.
CH_CHECKED enum ch_status core_input_fill(const struct core_input *input, int from);

// core_input_keep copies the pipe from, until its end, to a file in folder, otherwise
// in memory. CH_ERR_IO: neither could be created, or from cannot be read; errno says
// why.
CH_CHECKED enum ch_status core_input_keep(int from, const char *folder, int *out_fd);
