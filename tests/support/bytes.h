// SPDX-License-Identifier: Apache-2.0
//
// Damage done to valid input, for the tests of every parser: cut at each byte, flip
// each bit. The damaged copy lives in an allocation of exactly its size, so that
// AddressSanitizer sees a read even one byte past it.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A bytes_visit_fn is given one damaged input and must survive it. It asserts nothing
// by cmocka (which leaves by longjmp and would leak the copy): it returns 0 for
// acceptable behaviour and anything else for a failure.
typedef int bytes_visit_fn(const uint8_t *bytes, size_t size, void *context);

static inline int bytes_visit_copy(const uint8_t *bytes, size_t size,
                                   bytes_visit_fn *visit, void *context)
{
    uint8_t *copy = calloc(1, size != 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size != 0)
        memcpy(copy, bytes, size);
    int result = visit(copy, size, context);
    free(copy);
    return result;
}

// bytes_cut_everywhere visits each proper prefix of bytes; 0 when all were survived.
static inline int bytes_cut_everywhere(const uint8_t *bytes, size_t size,
                                       bytes_visit_fn *visit, void *context)
{
    int failures = 0;
    for (size_t n = 0; n < size; n++)
        failures += bytes_visit_copy(bytes, n, visit, context) != 0;
    return failures;
}

// bytes_flip_every_bit visits bytes with each single bit inverted in turn.
static inline int bytes_flip_every_bit(const uint8_t *bytes, size_t size,
                                       bytes_visit_fn *visit, void *context)
{
    int failures = 0;
    uint8_t *copy = calloc(1, size != 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size != 0)
        memcpy(copy, bytes, size);
    for (size_t bit = 0; bit < size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        failures += visit(copy, size, context) != 0;
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(copy);
    return failures;
}
