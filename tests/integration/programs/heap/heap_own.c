// SPDX-License-Identifier: Apache-2.0
//
// heap_own: has an allocator of its own, which never frees.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { POOL_BYTES = 1 << 20, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) unsigned char pool[POOL_BYTES];
static size_t used;

void *malloc(size_t size)
{
    size_t all = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > POOL_BYTES || all > POOL_BYTES - used)
        return NULL;
    unsigned char *block = pool + used + ALIGNMENT;
    used += all;
    memcpy(block - ALIGNMENT, &size, sizeof(size));
    return block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return count != 0 && size > SIZE_MAX / count ? NULL : malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    size_t old = 0;
    unsigned char *moved = malloc(size);
    if (block != NULL)
        memcpy(&old, (unsigned char *)block - ALIGNMENT, sizeof(old));
    return moved != NULL && block != NULL
               ? memcpy(moved, block, old < size ? old : size)
               : moved;
}

int main(void)
{
    free(realloc(malloc(10), 1000));
    puts("survived");
    return 0;
}
