// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <string.h>

#include "base/hex.h"

enum { BLOCK = DIGEST_BLOCK, ROUNDS = 64 };

// FIPS 180-4, section 4.2.2: the fractional parts of the cube roots of the first
// primes.
static const uint32_t sha256_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
};

static uint32_t rotate_right(uint32_t value, unsigned bits)
{
    return value >> bits | value << (32 - bits);
}

// expand_block makes the schedule of section 6.2.2, step 1.
static void expand_block(const uint8_t block[BLOCK], uint32_t out[ROUNDS])
{
    for (size_t i = 0; i < 16; i++)
        out[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                 (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t a = out[i - 15];
        uint32_t b = out[i - 2];
        out[i] = out[i - 16] + out[i - 7] +
                 (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) +
                 (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
}

static void add_sha256_block(uint32_t *state, const uint8_t block[BLOCK])
{
    uint32_t schedule[ROUNDS];
    uint32_t s[8];
    memcpy(s, state, sizeof(s));
    expand_block(block, schedule);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t one =
            rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t first = s[7] + one + choice + sha256_constants[i] + schedule[i];
        uint32_t zero =
            rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(&s[1], &s[0], 7 * sizeof(s[0]));
        s[4] += first;
        s[0] = first + zero + majority;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256_init(struct sha256 *sha)
{
    *sha =
        (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size)
{
    digest_block_add(&sha->message, bytes, size, add_sha256_block, sha->state);
}

void sha256_finish(struct sha256 *sha, uint8_t out[static SHA256_SIZE])
{
    digest_block_finish(&sha->message, true, add_sha256_block, sha->state);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        out[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const void *bytes, size_t size, char out[static SHA256_HEX_SIZE])
{
    struct sha256 sha;
    uint8_t sum[SHA256_SIZE];
    sha256_init(&sha);
    sha256_add(&sha, bytes, size);
    sha256_finish(&sha, sum);
    hex_encode(sum, sizeof(sum), out);
}

void sha256_hmac(const char *secret, const void *bytes, size_t size,
                 uint8_t out[static SHA256_SIZE])
{
    uint8_t key[BLOCK] = { 0 };
    uint8_t padded[BLOCK];
    struct sha256 sha;
    size_t length = strlen(secret);
    sha256_init(&sha);
    sha256_add(&sha, secret, length);
    if (length > BLOCK)
        sha256_finish(&sha, key);
    else
        memcpy(key, secret, length);
    for (size_t i = 0; i < BLOCK; i++)
        padded[i] = key[i] ^ 0x36;
    sha256_init(&sha);
    sha256_add(&sha, padded, BLOCK);
    sha256_add(&sha, bytes, size);
    sha256_finish(&sha, out);
    for (size_t i = 0; i < BLOCK; i++)
        padded[i] = key[i] ^ 0x5c;
    sha256_init(&sha);
    sha256_add(&sha, padded, BLOCK);
    sha256_add(&sha, out, SHA256_SIZE);
    sha256_finish(&sha, out);
}
