// SPDX-License-Identifier: Apache-2.0
#include "base/md5.h"

// The integer part of 2^32 times the sine of 1 to 64 (RFC 1321, section 3.4).
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
    0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
    0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
    0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
    0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
    0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
    0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
    0xeb86d391,
};

static const uint8_t rotations[4][4] = {
    { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
};

static uint32_t read_md5_word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

// mix_md5 gives one round's function of three of the words, and the place of the word
// of the block that it uses in step i.
static uint32_t mix_md5(unsigned i, uint32_t b, uint32_t c, uint32_t d, unsigned *out)
{
    switch (i / 16) {
    case 0:
        *out = i;
        return (b & c) | (~b & d);
    case 1:
        *out = (5 * i + 1) % 16;
        return (d & b) | (~d & c);
    case 2:
        *out = (3 * i + 5) % 16;
        return b ^ c ^ d;
    default:
        *out = 7 * i % 16;
        return c ^ (b | ~d);
    }
}

static void add_md5_block(uint32_t *state, const uint8_t *block)
{
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        unsigned word;
        unsigned turn = rotations[i / 16][i % 4];
        uint32_t mixed = mix_md5(i, b, c, d, &word);
        uint32_t sum = a + mixed + sines[i] + read_md5_word(block + 4 * word);
        a = d;
        d = c;
        c = b;
        b += sum << turn | sum >> (32 - turn);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_init(struct md5 *md5)
{
    *md5 = (struct md5){ .state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 } };
}

void md5_add(struct md5 *md5, const void *bytes, size_t size)
{
    digest_block_add(&md5->message, bytes, size, add_md5_block, md5->state);
}

void md5_finish(struct md5 *md5, uint8_t out[static MD5_SIZE])
{
    digest_block_finish(&md5->message, false, add_md5_block, md5->state);
    for (size_t i = 0; i < MD5_SIZE; i++)
        out[i] = (uint8_t)(md5->state[i / 4] >> 8 * (i % 4));
}
