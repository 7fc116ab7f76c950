// SPDX-License-Identifier: Apache-2.0
//
// Which of two releases is the newer one.
//
// Releases are compared piece by piece, as people number them: 1.9 < 1.10, 2.0-rc.1 <
// 2.0 < 2.0.1, v1.2 = 1.2, and `program@1.2` is 1.2. Commit hashes, code names and
// names of branches have no order.
#pragma once
#include <stdbool.h>

// release_order stores a number less than, equal to or greater than 0 at out when a is
// older than, the same as, or newer than b; an empty release is older than any other.
// False: the two have no order.
bool release_order(const char *a, const char *b, int *out);
