// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4) and MD5 (RFC 1321), by nettle. SHA-256 names objects and stands
// for tokens in files; MD5 is what DWARF 5 identifies source files by. Nothing is
// encrypted in this project; TLS is libcurl's.
//
// A sum of many parts is made by nettle's functions: sha256_init, sha256_update.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <nettle/md5.h>
#include <nettle/sha2.h>

enum {
    MD5_SIZE = MD5_DIGEST_SIZE,
    SHA256_SIZE = SHA256_DIGEST_SIZE,
    SHA256_HEX_SIZE = 2 * SHA256_SIZE + 1,
};

// sha256_hex writes the sum of size bytes as lower-case digits.
void sha256_hex(const void *bytes, size_t size, char out[static SHA256_HEX_SIZE]);

// sha256_finish_hex writes the sum of what was added to sha as lower-case digits.
void sha256_finish_hex(struct sha256_ctx *sha, char out[static SHA256_HEX_SIZE]);

// sha256_hmac writes the code (HMAC, RFC 2104) of a message under a secret, by which a
// receiver of alerts checks them.
void sha256_hmac(const char *secret, const void *bytes, size_t size,
                 uint8_t out[static SHA256_SIZE]);
