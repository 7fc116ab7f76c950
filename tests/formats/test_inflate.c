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

// A pipe in memory, which reads and writes pieces of changing size.
struct piped {
    const uint8_t *in;
    size_t in_size;
    size_t piece; // read at once; 0: it changes
    uint8_t *out;
    size_t out_size; // that there is room for
    size_t written;
    size_t write_limit; // the disk is full after so many bytes
    bool overrun;
};

static size_t read_piece(void *context, void *to, size_t size)
{
    struct piped *p = context;
    size_t part = p->piece != 0 ? p->piece : 1 + p->in_size % 5000;
    part = part < size ? part : size;
    part = part < p->in_size ? part : p->in_size;
    memcpy(to, p->in, part);
    p->in += part;
    p->in_size -= part;
    return part;
}

static bool write_piece(void *context, const void *from, size_t size)
{
    struct piped *p = context;
    p->overrun = p->overrun || size > p->out_size - p->written;
    if (p->overrun || p->written + size > p->write_limit)
        return false;
    memcpy(p->out + p->written, from, size);
    p->written += size;
    return true;
}

static enum ch_status inflate_piped(struct piped *p, uint64_t size)
{
    const struct inflate_pipe pipe = { read_piece, write_piece, p };
    return inflate_zlib_pipe(&pipe, size);
}

// Gives the size of what zlib makes of a long text: the short one over and over, each
// time with another beginning, so that repetitions reach far back.
static size_t pack_long(uint8_t *text, size_t size, uint8_t *to, size_t room, int level)
{
    uLongf written = room;
    make_plain(7, true);
    for (size_t i = 0; i < size; i++)
        text[i] = plain[(i + i / 30000 * 77) % 30000];
    assert_int_equal(compress2(to, &written, text, size, level), Z_OK);
    return written;
}

enum { LONG = 2000000, LONG_PACKED = LONG + LONG / 100 };

static void inflate_pipes_streams_that_are_longer_than_its_memory(void **state)
{
    (void)state;
    uint8_t *text = malloc(LONG);
    uint8_t *to = malloc(LONG_PACKED);
    uint8_t *out = malloc(LONG);
    bool right = true;
    for (int level = 0; level <= 9; level += 3) {
        size_t size = pack_long(text, LONG, to, LONG_PACKED, level);
        struct piped p = {
            .in = to, .in_size = size, .out = out, .out_size = LONG, .write_limit = LONG
        };
        enum ch_status status = inflate_piped(&p, LONG);
        right = right && status == CH_OK && p.written == LONG &&
                memcmp(out, text, LONG) == 0;
    }
    free(text);
    free(to);
    free(out);
    assert_true(right);
}

static void inflate_pipes_a_stream_that_comes_byte_by_byte(void **state)
{
    (void)state;
    enum { SHORT = 40000, PIECES_MAX = 9 };
    uint8_t *text = malloc(SHORT);
    uint8_t *to = malloc(LONG_PACKED);
    uint8_t *out = malloc(SHORT);
    size_t right = 0;
    for (size_t piece = 1; piece <= PIECES_MAX; piece++)
        for (int level = 0; level <= 9; level += 9) {
            size_t size = pack_long(text, SHORT, to, LONG_PACKED, level);
            struct piped p = { .in = to,
                               .in_size = size,
                               .piece = piece,
                               .out = out,
                               .out_size = SHORT,
                               .write_limit = SHORT };
            right += inflate_piped(&p, SHORT) == CH_OK && p.written == SHORT &&
                     memcmp(out, text, SHORT) == 0;
        }
    free(text);
    free(to);
    free(out);
    assert_int_equal(right, 2 * PIECES_MAX);
}

static void inflate_pipes_no_more_than_was_announced(void **state)
{
    (void)state;
    uint8_t *text = calloc(LONG, 1); // a thousand times as much as is stored
    uint8_t *to = malloc(LONG_PACKED);
    uint8_t *out = malloc(LONG);
    uLongf size = LONG_PACKED;
    assert_int_equal(compress2(to, &size, text, LONG, 9), Z_OK);
    static const uint64_t announced[] = { 0, 1, 4096, LONG / 2, LONG - 1, LONG + 1 };
    int refused = 0;
    bool overrun = false;
    for (size_t i = 0; i < 6; i++) {
        size_t room = announced[i] < LONG ? (size_t)announced[i] : LONG;
        struct piped p = {
            .in = to, .in_size = size, .out = out, .out_size = room, .write_limit = LONG
        };
        refused += inflate_piped(&p, announced[i]) == CH_ERR_MALFORMED;
        overrun = overrun || p.overrun;
    }
    free(text);
    free(to);
    free(out);
    assert_int_equal(refused, 6);
    assert_false(overrun);
}

static void inflate_says_when_a_pipe_ends_early_or_is_full(void **state)
{
    (void)state;
    uint8_t *text = malloc(LONG);
    uint8_t *to = malloc(LONG_PACKED);
    uint8_t *out = malloc(LONG);
    size_t size = pack_long(text, LONG, to, LONG_PACKED, 6);
    int cut = 0;
    for (size_t i = 1; i <= 20; i++) {
        struct piped p = { .in = to,
                           .in_size = size - size * i / 20,
                           .out = out,
                           .out_size = LONG,
                           .write_limit = LONG };
        cut += inflate_piped(&p, LONG) == CH_ERR_TRUNCATED;
    }
    struct piped full = {
        .in = to, .in_size = size, .out = out, .out_size = LONG, .write_limit = LONG - 1
    };
    enum ch_status status = inflate_piped(&full, LONG);
    free(text);
    free(to);
    free(out);
    assert_int_equal(cut, 20);
    assert_int_equal(status, CH_ERR_IO);
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
        cmocka_unit_test(inflate_pipes_streams_that_are_longer_than_its_memory),
        cmocka_unit_test(inflate_pipes_a_stream_that_comes_byte_by_byte),
        cmocka_unit_test(inflate_pipes_no_more_than_was_announced),
        cmocka_unit_test(inflate_says_when_a_pipe_ends_early_or_is_full),
    };
    return cmocka_run_group_tests_name("formats/inflate", tests, NULL, NULL);
}
