// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numbers from outside: each function says whether the result is exact,
// and stores it only then.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// checked_add_u64 stores a + b at out, or returns false when it wraps.
CH_CHECKED static inline bool checked_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

// checked_mul_u64 stores a * b at out, or returns false when it wraps.
CH_CHECKED static inline bool checked_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

// checked_add_size stores a + b at out, or returns false when it wraps.
CH_CHECKED static inline bool checked_add_size(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}
