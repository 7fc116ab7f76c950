// SPDX-License-Identifier: Apache-2.0
//
// How far a name is from another one: for suggestions after a typing mistake.
//
// Names longer than EDIT_DISTANCE_BYTES are far from any other. Users: the doctor,
// which looks at variables, and the collector's search.
#pragma once
#include <stddef.h>

enum { EDIT_DISTANCE_BYTES = 32 }; // longest name that is compared

// edit_distance is the edit distance of two names: how many letters must be inserted,
// deleted or replaced to turn a into b. SIZE_MAX: b is longer than EDIT_DISTANCE_BYTES.
size_t edit_distance(const char *a, const char *b);
