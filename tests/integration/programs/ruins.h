// SPDX-License-Identifier: Apache-2.0
//
// Overwriting words of one's own process and crashing, in a child each time: a start of
// an interpreter for every case would take most of the time.
#pragma once
#include <stddef.h>
#include <stdint.h>

// ruin_and_crash writes pairs of an address and a word, those that may be written, and
// crashes.
void ruin_and_crash(const uint64_t *pairs, size_t count);

// ruin_in_child has a child do so, which ends by the signal's default action, and
// prints its number, PID, how it ended, and after how many microseconds.
void ruin_in_child(long number, const uint64_t *pairs, size_t count);
