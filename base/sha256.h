// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), and the code that a shared secret and a message give together
// (HMAC, RFC 2104): what a receiver of alerts checks them by, and what may stand for a
// token in a file.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/digest_block.h"

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 2 * SHA256_SIZE + 1 };

// A sha256 is a sum under way.
struct sha256 {
    uint32_t state[8];
    struct digest_block message;
};

void sha256_init(struct sha256 *sha);

// sha256_add continues the sum with size bytes.
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);

// sha256_finish gives the sum; sha is not used after that.
void sha256_finish(struct sha256 *sha, uint8_t out[static SHA256_SIZE]);

// sha256_hex writes the sum of size bytes as lower-case digits.
void sha256_hex(const void *bytes, size_t size, char out[static SHA256_HEX_SIZE]);

// sha256_hmac writes the code of a message under a secret.
void sha256_hmac(const char *secret, const void *bytes, size_t size,
                 uint8_t out[static SHA256_SIZE]);
