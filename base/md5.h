// SPDX-License-Identifier: Apache-2.0
//
// MD5 (RFC 1321), by which DWARF 5 identifies source files. It tells a file that
// changed by accident from one that did not; it keeps nobody from making two files
// alike.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/digest_block.h"

enum { MD5_SIZE = 16 };

// An md5 is a sum under way.
struct md5 {
    uint32_t state[4];
    struct digest_block message;
};

void md5_init(struct md5 *md5);

// md5_add continues the sum with size bytes.
void md5_add(struct md5 *md5, const void *bytes, size_t size);

// md5_finish gives the sum; md5 is not used after that.
void md5_finish(struct md5 *md5, uint8_t out[static MD5_SIZE]);
