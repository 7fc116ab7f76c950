// SPDX-License-Identifier: Apache-2.0
#include "unwind/image_bytes.h"

#include <stdlib.h>

// image_bytes_grow makes room for more bytes after the first size ones.
static uint8_t *image_bytes_grow(uint8_t *bytes, size_t size, size_t *capacity,
                                 size_t limit)
{
    enum { FIRST_BYTES = 64 << 10 };
    if (size < *capacity)
        return bytes;
    size_t larger = *capacity != 0 ? *capacity * 2 : FIRST_BYTES;
    if (larger > limit)
        larger = limit;
    uint8_t *moved = realloc(bytes, larger);
    if (moved == NULL) {
        free(bytes);
        return NULL;
    }
    *capacity = larger;
    return moved;
}

enum ch_status image_bytes_copy(const struct memory_reader *memory, uint64_t address,
                                uint64_t limit, uint8_t **out, size_t *out_size)
{
    uint8_t *bytes = NULL;
    size_t capacity = 0;
    size_t size = 0;
    if (limit > SIZE_MAX / 2)
        limit = SIZE_MAX / 2;

    while (size < limit) {
        bytes = image_bytes_grow(bytes, size, &capacity, (size_t)limit);
        if (bytes == NULL)
            return CH_ERR_NO_MEMORY;
        size_t wanted = capacity - size;
        size_t count =
            memory->read(memory->source, address + size, bytes + size, wanted);
        if (count == 0 || count > wanted)
            break;
        size += count;
    }
    if (size == 0) {
        free(bytes);
        return CH_ERR_FAULT;
    }
    *out = bytes;
    *out_size = size;
    return CH_OK;
}
