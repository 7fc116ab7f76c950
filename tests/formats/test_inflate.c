// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/inflate_table.h"
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

static enum ch_status build_table(enum inflate_alphabet alphabet,
                                  const uint8_t *lengths, unsigned symbols)
{
    static uint32_t table[INFLATE_LITERAL_ENTRIES];
    return inflate_table_build(table, alphabet, lengths, symbols);
}

static void inflate_refuses_codes_with_too_many_or_too_few_symbols(void **state)
{
    (void)state;
    static const uint8_t none[30] = { 0 };
    static const uint8_t one[30] = { 0, 1 };
    static const uint8_t half[30] = { 2, 2 };
    static const uint8_t long_one[30] = { 0, 2 };
    static const uint8_t whole[30] = { 2, 2, 1 };
    static const uint8_t too_many[30] = { 1, 1, 1 };
    assert_int_equal(build_table(INFLATE_DISTANCES, none, 30), CH_OK);
    assert_int_equal(build_table(INFLATE_DISTANCES, one, 30), CH_OK);
    assert_int_equal(build_table(INFLATE_DISTANCES, whole, 30), CH_OK);
    assert_int_equal(build_table(INFLATE_DISTANCES, half, 30), CH_ERR_MALFORMED);
    assert_int_equal(build_table(INFLATE_DISTANCES, long_one, 30), CH_ERR_MALFORMED);
    assert_int_equal(build_table(INFLATE_DISTANCES, too_many, 30), CH_ERR_MALFORMED);
    assert_int_equal(build_table(INFLATE_LENGTHS, one, 19), CH_ERR_MALFORMED);
    assert_int_equal(build_table(INFLATE_LENGTHS, whole, 19), CH_OK);
}

// Splits codes of the longest lengths last, so that many further tables are needed.
static void inflate_has_room_for_every_code(void **state)
{
    (void)state;
    srand(11);
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t lengths[286] = { 0 };
        unsigned count = 1;
        while (count < 286) {
            unsigned split = i % 2 == 0 ? count - 1 : (unsigned)rand() % count;
            if (lengths[split] == 15)
                split = (unsigned)rand() % count;
            if (lengths[split] == 15)
                continue;
            lengths[count++] = ++lengths[split];
        }
        assert_int_equal(build_table(INFLATE_LITERALS, lengths, count), CH_OK);
    }
}

// What is damaged and still is a stream to zlib is the same to us.
static void inflate_reads_damaged_streams_as_zlib_does(void **state)
{
    (void)state;
    enum { SIZE = 3000, TURNS = 6000 };
    static uint8_t theirs[PLAIN];
    unsigned accepted = 0;
    srand(13);
    make_plain(13, true);
    for (unsigned i = 0; i < TURNS; i++) {
        size_t size = pack(SIZE, 9, i % 4 == 0 ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY);
        size_t at = 2 + (size_t)rand() % (i % 2 == 0 ? 80 : size - 6);
        packed[at] ^= (uint8_t)(1u << rand() % 8);
        z_stream z = { .next_in = packed + 2,
                       .avail_in = (uInt)size - 2,
                       .next_out = theirs,
                       .avail_out = PLAIN };
        assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
        bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
        assert_int_equal(inflateEnd(&z), Z_OK);
        if (!whole)
            continue;
        uint32_t sum = (uint32_t)adler32(1, theirs, (uInt)z.total_out);
        for (unsigned b = 0; b < 4; b++)
            packed[2 + z.total_in + b] = (uint8_t)(sum >> (24 - 8 * b));
        assert_int_equal(
            inflate_zlib(cursor_over(packed, 2 + z.total_in + 4), found, z.total_out),
            CH_OK);
        assert_memory_equal(found, theirs, z.total_out);
        accepted++;
    }
    assert_in_range(accepted, 1000, TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflate_reads_what_zlib_wrote_in_every_way),
        cmocka_unit_test(inflate_refuses_another_size_or_checksum),
        cmocka_unit_test(inflate_survives_every_cut_and_flipped_bit),
        cmocka_unit_test(inflate_refuses_codes_with_too_many_or_too_few_symbols),
        cmocka_unit_test(inflate_has_room_for_every_code),
        cmocka_unit_test(inflate_reads_damaged_streams_as_zlib_does),
    };
    return cmocka_run_group_tests_name("formats/inflate", tests, NULL, NULL);
}
