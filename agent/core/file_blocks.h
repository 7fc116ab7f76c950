// SPDX-License-Identifier: Apache-2.0
//
// A cache for small reads at scattered places of files: a core and the images it names.
//
// Unwinding reads single words here and there, so whole blocks are read and the latest
// kept. Nothing is mapped: a file that shrinks meanwhile gives fewer bytes, never a
// SIGBUS.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { FILE_BLOCK_BYTES = 16 << 10, FILE_BLOCKS = 256 };

struct file_blocks {
    uint8_t *bytes;
    struct file_block *blocks;
};

// file_blocks_init allocates room for FILE_BLOCKS blocks.
CH_CHECKED enum ch_status file_blocks_init(struct file_blocks *cache);
void file_blocks_deinit(struct file_blocks *cache);

// file_blocks_read copies up to length bytes at offset of the file fd, and returns how
// many: fewer at the end of the file or of a block. fd must stay open for as long as
// the cache is used.
size_t file_blocks_read(struct file_blocks *cache, int fd, uint64_t offset, void *to,
                        size_t length);
