// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook run --heap every` says of a run: before it, the limit of the system
// that guarded blocks will reach; after it, how many allocations were guarded in all of
// its processes that exited, and what was still allocated in them.
//
// Each process with libcrashhook-heap appends a line to a file (HEAP_SUMMARY_VARIABLE).
// One that is killed, or ends by _exit, appends nothing.
#pragma once
#include "base/settings/settings.h"

// heap_summary_begin sets the variable, if each allocation is to be guarded.
void heap_summary_begin(const struct settings *settings);

// heap_summary_end prints the summary, and removes the file.
void heap_summary_end(void);
