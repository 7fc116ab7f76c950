// SPDX-License-Identifier: Apache-2.0
//
// How far a name is from another one: for suggestions after a slip of the fingers.
//
// Names longer than SLIPS_NAME_BYTES are far from any other. Users: the doctor, which
// looks at variables, and the collector's search.
#pragma once
#include <stddef.h>

enum { SLIPS_NAME_BYTES = 32 }; // longest name that is compared

// slips_between is the edit distance of two names: how many letters must be inserted,
// deleted or replaced to turn a into b. SIZE_MAX: b is longer than SLIPS_NAME_BYTES.
size_t slips_between(const char *a, const char *b);
