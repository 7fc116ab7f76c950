// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/inflate_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "support/test.h"

enum {
    LONG = 2000000,
    PACKED_MAX = LONG + LONG / 50 + 1024,
    WORDS = 64,
    PART = 200000,    // more than is searched for a block
    AT_ONCE = 170000, // bytes that a decoder writes, at most
    SLACK = 10000,
    THREADS_MAX = 4,
};

static uint8_t *text;
static uint8_t *packed;
static uint8_t *found;

static int make_memory(void **state)
{
    (void)state;
    text = malloc(PACKED_MAX);
    packed = malloc(2 * PACKED_MAX);
    found = malloc(PACKED_MAX);
    return text == NULL || packed == NULL || found == NULL;
}

static int free_memory(void **state)
{
    (void)state;
    free(text);
    free(packed);
    free(found);
    return 0;
}

// Makes a text of words that are replaced one after the other, so that what is repeated
// is sooner or later forgotten.
static void make_text(unsigned seed)
{
    uint8_t words[WORDS][8] = { { 0 } };
    srand(seed);
    for (size_t i = 0; i + 8 <= LONG; i += 8) {
        unsigned word = (unsigned)rand() % WORDS;
        if (rand() % 2 == 0)
            words[word][rand() % 8] = (uint8_t)rand();
        memcpy(text + i, words[word], 8);
    }
}

// Makes one in which all is repeated for ever.
static void make_lasting_text(void)
{
    enum { PERIOD = 30000 };
    make_text(3);
    for (size_t i = PERIOD; i < LONG; i++)
        text[i] = text[(i + i / PERIOD * 77) % PERIOD];
}

// Blocks are as large as memory, 1 to 9, says.
static size_t pack_blocks(const uint8_t *from, size_t size, int level, int strategy,
                          int memory)
{
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS, memory, strategy),
                     Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)from;
    z.avail_in = (uInt)size;
    z.next_out = packed;
    z.avail_out = 2 * PACKED_MAX;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return 2 * PACKED_MAX - z.avail_out;
}

static size_t pack(const uint8_t *from, size_t size, int level, int strategy)
{
    return pack_blocks(from, size, level, strategy, 8);
}

// A stream in memory, and what was made of it.
struct unpacking {
    size_t stored;
    size_t piece;       // read at once
    size_t write_limit; // the disk is full after so many bytes
    size_t size;        // announced
    size_t part_bytes;
    int threads;
    size_t held_until; // the first part is not read before a byte from here on was
    pthread_mutex_t mutex;
    pthread_cond_t read; // that byte was
    bool is_read;
    size_t longest; // bytes written at once
    bool overrun;
    struct inflate_parts *parts;
};

// unpacking_hold says whether what was waited for has come.
static bool unpacking_hold(struct unpacking *u, uint64_t at)
{
    struct timespec end;
    int waited = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&u->mutex);
    u->is_read = u->is_read || at >= u->held_until;
    while (!u->is_read && at < u->part_bytes && waited == 0)
        waited = pthread_cond_timedwait(&u->read, &u->mutex, &end);
    pthread_cond_broadcast(&u->read);
    pthread_mutex_unlock(&u->mutex);
    return waited == 0;
}

static size_t unpacking_read(void *context, void *to, size_t size, uint64_t at)
{
    struct unpacking *u = context;
    size_t part = at < u->stored && unpacking_hold(u, at) ? u->stored - at : 0;
    part = part < size ? part : size;
    part = part < u->piece ? part : u->piece;
    memcpy(to, packed + at, part);
    return part;
}

static bool unpacking_write(void *context, const void *from, size_t size, uint64_t at)
{
    struct unpacking *u = context;
    bool fits = at <= u->size && size <= u->size - at;
    pthread_mutex_lock(&u->mutex);
    u->longest = size > u->longest ? size : u->longest;
    u->overrun = u->overrun || !fits;
    pthread_mutex_unlock(&u->mutex);
    if (!fits || at + size > u->write_limit)
        return false;
    memcpy(found + at, from, size);
    return true;
}

static void *unpacking_work(void *context)
{
    struct unpacking *u = context;
    (void)!inflate_parts_work(u->parts);
    return NULL;
}

// unpack gives what is said of a stream, with what u has of it.
static enum ch_status unpack(struct unpacking *u)
{
    const struct inflate_source source = { unpacking_read, unpacking_write, u };
    pthread_t threads[THREADS_MAX];
    u->piece = u->piece != 0 ? u->piece : SIZE_MAX;
    u->write_limit = u->write_limit != 0 ? u->write_limit : SIZE_MAX;
    memset(found, 0, LONG);
    pthread_mutex_init(&u->mutex, NULL);
    pthread_cond_init(&u->read, NULL);
    enum ch_status status =
        inflate_parts_create(&u->parts, &source, u->stored, u->size, u->part_bytes);
    int started = 0;
    while (status == CH_OK && started < u->threads &&
           pthread_create(&threads[started], NULL, unpacking_work, u) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (status == CH_OK)
        status = inflate_parts_check(u->parts);
    inflate_parts_destroy(u->parts);
    pthread_cond_destroy(&u->read);
    pthread_mutex_destroy(&u->mutex);
    return status;
}

static void parts_give_what_zlib_was_given_with_any_number_of_threads(void **state)
{
    static const size_t part_bytes[] = { 30000, PART, SIZE_MAX };
    static const struct {
        int level;
        int strategy;
    } ways[] = { { 0, 0 }, { 1, 0 }, { 6, 0 }, { 9, Z_HUFFMAN_ONLY }, { 9, Z_FIXED } };
    (void)state;
    make_text(1);
    for (int way = 0; way < 5; way++) {
        size_t stored = pack(text, LONG, ways[way].level, ways[way].strategy);
        for (int i = 0; i < 9; i++) {
            struct unpacking u = { .stored = stored,
                                   .size = LONG,
                                   .part_bytes = part_bytes[i % 3],
                                   .threads = 1 << i / 3 };
            assert_int_equal(unpack(&u), CH_OK);
            assert_memory_equal(found, text, LONG);
        }
    }
}

static void parts_are_decoded_before_their_turn(void **state)
{
    (void)state;
    make_text(2);
    struct unpacking u = { .stored = pack(text, LONG, 6, 0),
                           .size = LONG,
                           .part_bytes = PART,
                           .threads = 2,
                           .piece = SLACK / 2,
                           .held_until = 2 * PART - SLACK };
    assert_in_range(u.stored, 2 * PART + SLACK, LONG);
    assert_int_equal(unpack(&u), CH_OK);
    assert_memory_equal(found, text, LONG);
    assert_in_range(u.longest, AT_ONCE, LONG); // what was kept is written at once
}

static void parts_that_were_decoded_ahead_give_no_more_than_was_announced(void **state)
{
    (void)state;
    make_text(2);
    struct unpacking u = { .stored = pack(text, LONG, 6, 0),
                           .size = LONG / 2,
                           .part_bytes = PART,
                           .threads = 2,
                           .piece = SLACK / 2,
                           .held_until = 2 * PART - SLACK };
    assert_int_equal(unpack(&u), CH_ERR_MALFORMED);
    assert_false(u.overrun);
}

static void parts_that_refer_to_the_first_for_ever_wait_for_their_turn(void **state)
{
    (void)state;
    make_lasting_text();
    struct unpacking u = { .stored = pack(text, LONG, 1, 0),
                           .size = LONG,
                           .part_bytes = 20000,
                           .threads = 3 };
    assert_int_equal(unpack(&u), CH_OK);
    assert_memory_equal(found, text, LONG);
}

// What is stored is a stream itself, and its blocks are found in place of the outer
// one's.
static void parts_that_only_seem_to_begin_are_decoded_anew(void **state)
{
    (void)state;
    make_text(4);
    size_t inner = pack_blocks(text, LONG, 6, 0, 3);
    memcpy(text, packed, inner);
    struct unpacking u = { .stored = pack_blocks(text, inner, 0, 0, 9),
                           .size = inner,
                           .part_bytes = PART,
                           .threads = 2,
                           .held_until = PART + 1 };
    assert_int_equal(unpack(&u), CH_OK);
    assert_memory_equal(found, text, inner);
    assert_in_range(u.longest, 1, AT_ONCE);
}

// The first part has blocks without any contents, and the second repeats what would be
// before them.
static void parts_that_reach_before_the_beginning_are_refused(void **state)
{
    enum { HEADER = 2, EMPTY = 5, EMPTIES = PART / EMPTY, DICTIONARY = 30000 };
    static const uint8_t empty[EMPTY] = { 0, 0, 0, 0xff, 0xff };
    static const uint8_t header[HEADER] = { 0x78, 0x9c };
    (void)state;
    for (int i = 0; i < 2; i++) {
        z_stream z = { 0 };
        make_text(5);
        memcpy(packed, header, HEADER);
        for (size_t at = 0; at < EMPTIES; at++)
            memcpy(packed + HEADER + at * EMPTY, empty, EMPTY);
        size_t before = HEADER + (size_t)EMPTIES * EMPTY;
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
        if (i == 1)
            assert_int_equal(deflateSetDictionary(&z, text, DICTIONARY), Z_OK);
        z.next_in = text;
        z.avail_in = LONG;
        z.next_out = packed + before;
        z.avail_out = PACKED_MAX;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        size_t stored = before + z.total_out;
        assert_int_equal(deflateEnd(&z), Z_OK);
        uint32_t sum = (uint32_t)adler32(1, text, LONG);
        for (unsigned b = 0; b < 4; b++)
            packed[stored++] = (uint8_t)(sum >> (24 - 8 * b));
        struct unpacking u = { .stored = stored,
                               .size = LONG,
                               .part_bytes = PART,
                               .threads = 2,
                               .piece = SLACK / 2,
                               .held_until = 2 * PART - SLACK };
        assert_int_equal(unpack(&u), i == 0 ? CH_OK : CH_ERR_MALFORMED);
        assert_false(u.overrun);
    }
}

static void parts_come_in_pieces_of_any_size(void **state)
{
    (void)state;
    make_text(6);
    size_t stored = pack(text, 300000, 6, 0);
    for (size_t piece = 1; piece < 10; piece += 4) {
        struct unpacking u = { .stored = stored,
                               .piece = piece,
                               .size = 300000,
                               .part_bytes = 20000,
                               .threads = 2 };
        assert_int_equal(unpack(&u), CH_OK);
        assert_memory_equal(found, text, 300000);
    }
}

static void parts_give_no_more_than_was_announced(void **state)
{
    static const size_t announced[] = { 0, 1, 4096, LONG / 2, LONG - 1, LONG + 1 };
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        make_text(7);
        if (kind == 1)
            memset(text, 0, LONG); // a thousand times as much as is stored
        size_t stored = pack(text, LONG, 9, 0);
        for (int i = 0; i < 12; i++) {
            struct unpacking u = { .stored = stored,
                                   .size = announced[i % 6],
                                   .part_bytes = kind == 1 ? 100 : PART,
                                   .threads = 1 + i / 6 * 2 };
            assert_int_equal(unpack(&u), CH_ERR_MALFORMED);
            assert_false(u.overrun);
        }
    }
}

static void parts_say_when_the_stream_ends_early_is_wrong_or_has_no_room(void **state)
{
    (void)state;
    make_text(8);
    size_t stored = pack(text, LONG, 6, 0);
    for (size_t i = 0; i < 40; i++) {
        struct unpacking u = { .stored = stored - 1 - i % 20 * (stored - 1) / 20,
                               .size = LONG,
                               .part_bytes = PART,
                               .threads = 1 + (int)(i / 20) };
        assert_int_equal(unpack(&u), CH_ERR_TRUNCATED);
        u = (struct unpacking){ .stored = stored,
                                .write_limit = LONG - 1 - i % 20 * LONG / 20,
                                .size = LONG,
                                .part_bytes = PART,
                                .threads = 1 + (int)(i / 20) };
        assert_int_equal(unpack(&u), CH_ERR_IO);
    }
    for (int threads = 1; threads <= 2; threads++) {
        struct unpacking u = {
            .stored = stored, .size = LONG, .part_bytes = PART, .threads = threads
        };
        packed[stored - 1] ^= 1;
        assert_int_equal(unpack(&u), CH_ERR_MALFORMED);
        packed[stored - 1] ^= 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_give_what_zlib_was_given_with_any_number_of_threads),
        cmocka_unit_test(parts_are_decoded_before_their_turn),
        cmocka_unit_test(parts_that_were_decoded_ahead_give_no_more_than_was_announced),
        cmocka_unit_test(parts_that_refer_to_the_first_for_ever_wait_for_their_turn),
        cmocka_unit_test(parts_that_only_seem_to_begin_are_decoded_anew),
        cmocka_unit_test(parts_that_reach_before_the_beginning_are_refused),
        cmocka_unit_test(parts_come_in_pieces_of_any_size),
        cmocka_unit_test(parts_give_no_more_than_was_announced),
        cmocka_unit_test(parts_say_when_the_stream_ends_early_is_wrong_or_has_no_room),
    };
    return cmocka_run_group_tests_name("symbolizer/inflate_parts", tests, make_memory,
                                       free_memory);
}
