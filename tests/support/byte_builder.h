// SPDX-License-Identifier: Apache-2.0
//
// Bytes a test builds in either order: what parsers of binary formats are fed.
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_builder {
    uint8_t bytes[4096];
    size_t size;
    bool big_endian;
};

// byte_builder_uint appends the size low bytes of value.
static inline void byte_builder_uint(struct byte_builder *b, uint64_t value,
                                     size_t size)
{
    assert(b->size + size <= sizeof(b->bytes));
    for (size_t i = 0; i < size; i++)
        b->bytes[b->size++] =
            (uint8_t)(value >> 8 * (b->big_endian ? size - 1 - i : i));
}

// byte_builder_bytes appends size bytes as they are.
static inline void byte_builder_bytes(struct byte_builder *b, const void *bytes,
                                      size_t size)
{
    assert(b->size + size <= sizeof(b->bytes));
    if (size != 0)
        memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}
