// SPDX-License-Identifier: Apache-2.0
//
// Sizes as people write them: 64K, 8M, 10G, 2T. A size is more than 0 and has at most
// six digits and one unit, of 1024; bytes alone are none. Users: options of the command
// line, and settings of projects.
#pragma once
#include <stdint.h>

#include "base/status.h"

// size_read parses a size in bytes.
CH_CHECKED enum ch_status size_read(const char *text, int64_t *out);
