// SPDX-License-Identifier: Apache-2.0
//
// XRay's instrumentation map in the memory of a process: the functions that its numbers
// stand for (docs/formats/fdr.md). The agent opens no files while the process is held,
// and section headers are not in memory, so the map is recognized by its entries.
#pragma once
#include "agent/live/capture.h"

// flight_map_find writes the addresses of functions 1, 2, ... of the program to
// functions, which has room for limit, and returns how many there are: 0 when no map is
// found.
size_t flight_map_find(struct capture *capture, uint64_t *functions, size_t limit);
