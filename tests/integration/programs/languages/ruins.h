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

// ruin_add_place adds size bytes at an address to what ruin_cases overwrites; 0 is
// none.
void ruin_add_place(uint64_t at, uint64_t size);

// ruin_peek reads a word that may not be there: it is 0 then.
uint64_t ruin_peek(uint64_t at);

// ruin_cases runs count cases, each with some words of what was added overwritten, as
// its number, from seed on, decides.
void ruin_cases(int64_t seed, int64_t count);
