// SPDX-License-Identifier: Apache-2.0
//
// The names of what threads wait for: the variable that a lock is, by the symbol tables
// of its image, and whether an unknown futex is a condition's, a semaphore's or a
// barrier's, by the C library's function that the thread is in.
//
// Files are read in a guarded child. A lock in the heap or on a stack has no name.
#pragma once
#include <jansson.h>

#include "symbolizer/symbolizer.h"

// wait_names_add adds the names to report, whose frames are named already.
void wait_names_add(json_t *report, const struct symbolizer_options *options);
