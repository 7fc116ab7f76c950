// SPDX-License-Identifier: Apache-2.0
//
// Work for zlib, for check_arguments.py.
#include <string.h>
#include <zlib.h>

static unsigned char plain[60000];
static unsigned char packed[70000];
static unsigned char again[60000];

int main(void)
{
    unsigned state = 1;
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < sizeof(plain); i++) {
            state = state * 1103515245u + 12345u;
            plain[i] = (unsigned char)("abcdefgh"[state >> 28 & 7] + (i % 100 == 0));
        }
        uLongf packed_size = sizeof(packed);
        uLongf size = sizeof(again);
        if (compress2(packed, &packed_size, plain, sizeof(plain), round % 10) != Z_OK ||
            uncompress(again, &size, packed, packed_size) != Z_OK ||
            memcmp(plain, again, sizeof(plain)) != 0 || crc32(0, plain, 1000) == 0)
            return 1;
    }
    return 0;
}
