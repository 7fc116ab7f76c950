// SPDX-License-Identifier: Apache-2.0
#include "base/digest_block.h"

#include <string.h>

enum { LENGTH_AT = 56 };

void digest_block_add(struct digest_block *to, const void *bytes, size_t size,
                      digest_block_fn *add, uint32_t *state)
{
    const uint8_t *from = bytes;
    while (size != 0) {
        size_t used = to->bytes % DIGEST_BLOCK;
        size_t part = size < DIGEST_BLOCK - used ? size : DIGEST_BLOCK - used;
        memcpy(to->block + used, from, part);
        to->bytes += part;
        from += part;
        size -= part;
        if (to->bytes % DIGEST_BLOCK == 0)
            add(state, to->block);
    }
}

void digest_block_finish(struct digest_block *to, bool big_endian, digest_block_fn *add,
                         uint32_t *state)
{
    static const uint8_t padding[DIGEST_BLOCK] = { 0x80 };
    uint64_t bits = to->bytes * 8;
    uint8_t length[8];
    size_t used = to->bytes % DIGEST_BLOCK;
    size_t zeros =
        used < LENGTH_AT ? LENGTH_AT - used : DIGEST_BLOCK + LENGTH_AT - used;
    for (size_t i = 0; i < sizeof(length); i++)
        length[big_endian ? 7 - i : i] = (uint8_t)(bits >> 8 * i);
    digest_block_add(to, padding, zeros, add, state);
    digest_block_add(to, length, sizeof(length), add, state);
}
