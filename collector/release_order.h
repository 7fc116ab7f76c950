// SPDX-License-Identifier: Apache-2.0
//
// Which of two releases is the newer one.
//
// Releases are compared piece by piece, as people number them: 1.9 < 1.10, 2.0-rc.1 <
// 2.0 < 2.0.1, v1.2 = 1.2, and `program@1.2` is 1.2. Names that are hashes of commits
// have no order.
#pragma once
#include <stdbool.h>

// release_order stores less than, equal to or more than 0 at out as a is older than,
// the same as, or newer than b; no release is older than any. False: they have no
// order.
bool release_order(const char *a, const char *b, int *out);
