// SPDX-License-Identifier: Apache-2.0
#include "agent/core/file_blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/system/file.h"

struct file_block {
    int fd; // -1: empty
    uint64_t offset;
    size_t size;
};

enum ch_status file_blocks_init(struct file_blocks *cache)
{
    *cache = (struct file_blocks){
        .bytes = malloc((size_t)FILE_BLOCKS * FILE_BLOCK_BYTES),
        .blocks = calloc(FILE_BLOCKS, sizeof(*cache->blocks)),
    };
    if (cache->bytes == NULL || cache->blocks == NULL) {
        file_blocks_deinit(cache);
        return CH_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < FILE_BLOCKS; i++)
        cache->blocks[i].fd = -1;
    return CH_OK;
}

void file_blocks_deinit(struct file_blocks *cache)
{
    free(cache->bytes);
    free(cache->blocks);
    *cache = (struct file_blocks){ 0 };
}

// fill_block reads as much of the block as the file has.
static void fill_block(struct file_block *block, uint8_t *bytes, int fd,
                       uint64_t offset)
{
    *block = (struct file_block){ .fd = fd, .offset = offset };
    block->size = file_read_at(fd, bytes, FILE_BLOCK_BYTES, offset);
}

size_t file_blocks_read(struct file_blocks *cache, int fd, uint64_t offset, void *to,
                        size_t length)
{
    if (offset > INT64_MAX - FILE_BLOCK_BYTES)
        return 0;
    uint64_t start = offset & ~(uint64_t)(FILE_BLOCK_BYTES - 1);
    size_t skip = (size_t)(offset - start);
    // Blocks of different files at the same offset get different slots.
    size_t slot = (size_t)(start / FILE_BLOCK_BYTES + (unsigned)fd * 37u) % FILE_BLOCKS;
    struct file_block *block = &cache->blocks[slot];
    uint8_t *bytes = cache->bytes + slot * FILE_BLOCK_BYTES;

    if (block->fd != fd || block->offset != start)
        fill_block(block, bytes, fd, start);
    if (skip >= block->size)
        return 0;
    size_t count = block->size - skip < length ? block->size - skip : length;
    memcpy(to, bytes + skip, count);
    return count;
}
