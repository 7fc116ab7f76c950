// SPDX-License-Identifier: Apache-2.0
//
// Packing a report: the tables of a file of version 2 from a report as readers have it,
// with every frame in its place. Each place is said once, and so is each stack; what
// differs from thread to thread, the values, stays with the thread (report_table.h).
//
// Equal frames need not be one value of the tree, so a report of version 1 packs as
// well. What cannot be told apart from another within PACK_CANDIDATES comparisons is
// said again, so that no report takes longer than its size.
#pragma once
#include <jansson.h>

// report_pack gives report as a file of version 2 has it, in a new tree that shares
// values with report. NULL: out of memory.
json_t *report_pack(const json_t *report);
