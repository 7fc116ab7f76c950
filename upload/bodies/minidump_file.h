// SPDX-License-Identifier: Apache-2.0
//
// A report as a minidump: threads with their registers, the memory that the report has
// (stacks with CRASHHOOK_STACKS), images with their build IDs, the signal, and the
// report's facts as Crashpad's annotations. Users: the minidump target, export.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

// minidump_facts gives the annotations, an object of strings: the program, its version
// and so on under the names that servers of minidumps show, and the report's tags.
// NULL: out of memory.
json_t *minidump_facts(const json_t *report);

// minidump_file_write appends the minidump of a report to out, which is empty.
// CH_ERR_UNSUPPORTED: it has no registers of x86-64 or aarch64.
CH_CHECKED enum ch_status minidump_file_write(const json_t *report, struct text *out);
