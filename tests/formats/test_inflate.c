// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "support/bytes.h"
#include "support/test.h"

enum { PLAIN = 100000, PACKED = 2 * PLAIN, WORDS = 64 };

// A made text, of random bytes or of words that repeat.
static uint8_t plain[PLAIN];
static uint8_t packed[PACKED];
static uint8_t found[PLAIN];

static void make_plain(unsigned seed, bool words)
{
    uint8_t table[WORDS][8];
    srand(seed);
    for (size_t i = 0; i < sizeof(table); i++)
        table[i / 8][i % 8] = (uint8_t)rand();
    for (size_t i = 0; i < PLAIN; i++) {
        if (words && i + 8 <= PLAIN && rand() % 4 != 0) {
            memcpy(plain + i, table[rand() % WORDS], 8);
            i += 7;
        } else {
            plain[i] = (uint8_t)rand();
        }
    }
}

// pack gives the size of what zlib makes of size bytes of the plain text.
static size_t pack(size_t size, int level, int strategy)
{
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS, 9, strategy), Z_OK);
    z.next_in = plain;
    z.avail_in = (uInt)size;
    z.next_out = packed;
    z.avail_out = PACKED;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return PACKED - z.avail_out;
}

static void inflate_reads_what_zlib_wrote_in_every_way(void **state)
{
    static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY,
                                      Z_RLE, Z_FIXED };
    (void)state;
    for (unsigned i = 0; i < 2 * 10 * 5; i++) {
        size_t size = i < 10 ? i : PLAIN - i;
        make_plain(i, i % 2 == 0);
        size_t written = pack(size, (int)(i / 2 % 10), strategies[i / 20]);
        memset(found, 0, size);
        assert_int_equal(inflate_zlib(cursor_over(packed, written), found, size),
                         CH_OK);
        assert_memory_equal(found, plain, size);
    }
}

static void inflate_refuses_another_size_or_checksum(void **state)
{
    (void)state;
    make_plain(1, true);
    size_t size = pack(5000, 9, Z_DEFAULT_STRATEGY);
    assert_int_equal(inflate_zlib(cursor_over(packed, size), found, 4999),
                     CH_ERR_MALFORMED);
    assert_int_equal(inflate_zlib(cursor_over(packed, size), found, 5001),
                     CH_ERR_MALFORMED);
    packed[size - 1] ^= 1;
    assert_int_equal(inflate_zlib(cursor_over(packed, size), found, 5000),
                     CH_ERR_MALFORMED);
    packed[1] = 0xbb; // a dictionary is needed
    assert_int_equal(inflate_zlib(cursor_over(packed, size), found, 5000),
                     CH_ERR_UNSUPPORTED);
}

// Gives 1 for what is accepted.
static int drain(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    uint8_t out[600];
    return inflate_zlib(cursor_over(bytes, size), out, sizeof(out)) == CH_OK;
}

static void inflate_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    make_plain(2, true);
    for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
        size_t size = pack(600, 9, strategy);
        assert_int_equal(drain(packed, size, NULL), 1);
        assert_int_equal(bytes_cut_everywhere(packed, size, drain, NULL), 0);
        (void)bytes_flip_every_bit(packed, size, drain, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflate_reads_what_zlib_wrote_in_every_way),
        cmocka_unit_test(inflate_refuses_another_size_or_checksum),
        cmocka_unit_test(inflate_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/inflate", tests, NULL, NULL);
}
