// SPDX-License-Identifier: Apache-2.0
//
// What MD5 (RFC 1321) and SHA-256 (FIPS 180-4) have in common: they take a message in
// blocks of 64 bytes, and end it with a bit of 1, zeros, and its length in bits. The
// length of a message is not limited here; both count it modulo 2^64 bits.
//
// Both are written here because every program of the project links base/, and base/
// links the C library alone: OpenSSL or nettle would come to all of them, the static
// agent included, for two sums that never change. Nothing is encrypted in this project;
// TLS is libcurl's.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BLOCK = 64 };

// A digest_block is the message so far: how long it is, and what of it is in no whole
// block yet.
struct digest_block {
    uint64_t bytes;
    uint8_t block[DIGEST_BLOCK];
};

// A digest_block_fn adds one block to state, a digest's own.
typedef void digest_block_fn(uint32_t *state, const uint8_t block[DIGEST_BLOCK]);

// digest_block_add continues the message with size bytes.
void digest_block_add(struct digest_block *to, const void *bytes, size_t size,
                      digest_block_fn *add, uint32_t *state);

// digest_block_finish ends the message; its length is written as big_endian says.
void digest_block_finish(struct digest_block *to, bool big_endian, digest_block_fn *add,
                         uint32_t *state);
