// SPDX-License-Identifier: Apache-2.0
//
// How near two groups are: a weighted edit distance between their stacks of own
// functions, as group_key.h lists them. A frame weighs more the nearer it is to the
// crash, so that two bugs below one event loop are not near. Users: collector, cli.
#pragma once

enum { NEAR_LEAST = 50 }; // percent from which groups are listed as near

// similar_percent is how much of two stacks is alike, 0 to 100; 0 if one is empty.
int similar_percent(const char *first, const char *second);
