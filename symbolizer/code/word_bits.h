// SPDX-License-Identifier: Apache-2.0
//
// The fields of an instruction of 32 bits, as the manuals of processors number their
// bits: 0 is the lowest.
#pragma once
#include <stdint.h>

// word_bits gives count bits of word from bit low on.
static inline unsigned word_bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

// word_signed_bits gives them as a number with a sign.
static inline int64_t word_signed_bits(uint32_t word, unsigned low, unsigned count)
{
    int64_t sign = (int64_t)1 << (count - 1);
    return ((int64_t)word_bits(word, low, count) ^ sign) - sign;
}
