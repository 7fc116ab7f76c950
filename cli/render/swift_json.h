// SPDX-License-Identifier: Apache-2.0
//
// A report as the JSON crash log of Swift 6.2's backtracer
// (SWIFT_BACKTRACE=format=json), for tools that read those. docs/from-swift.md lists
// what differs. User: show.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

// swift_json_write appends report in one line. crashed_only: other threads are counted,
// and left out. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status swift_json_write(const json_t *report, bool crashed_only,
                                           struct text *out);
