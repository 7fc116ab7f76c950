// SPDX-License-Identifier: Apache-2.0
//
// Packing a report: makes the tables of a file of version 2 from a report as readers
// have it, with every frame in its place. Each place is written once, and so is each
// stack; what differs from thread to thread, the values, stays with the thread
// (report_shape.h).
//
// Equal frames need not be one value of the tree, so a report of version 1 can be
// packed too. A row that is not found within PACK_CANDIDATES comparisons is written
// again, so that the time is proportional to the report's size.
#pragma once
#include <jansson.h>

// report_pack converts report to a file of version 2, as a new tree that shares values
// with report. NULL: out of memory.
json_t *report_pack(const json_t *report);
