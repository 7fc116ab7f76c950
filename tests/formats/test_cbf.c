// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/cbf.h"

#include <stdlib.h>

#include "support/bytes.h"
#include "support/test.h"

// version 0, 64-bit; pc 0x401000 (absolute); ra -0x10; end
static const uint8_t two_frames[] = { 0x02, 0x1a, 0x40, 0x10, 0x00, 0x20, 0xf0, 0x00 };

static void cbf_resolves_a_delta_against_the_frame_before(void **state)
{
    (void)state;
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_reader_init(&r, two_frames, sizeof(two_frames)), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.value, 0x401000);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.kind, CBF_RETURN_ADDRESS);
    assert_int_equal(f.value, 0x400ff0);
    assert_int_equal(cbf_next_frame(&r, &f), CH_END);
    assert_true(r.complete);
}

static void cbf_says_when_the_writer_gave_up(void **state)
{
    (void)state;
    static const uint8_t gave_up[] = { 0x02, 0x18, 0x10, 0x01 };
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_reader_init(&r, gave_up, sizeof(gave_up)), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.kind, CBF_TRUNC);
    assert_int_equal(cbf_next_frame(&r, &f), CH_END);
    assert_true(r.complete);
}

static void cbf_tells_data_that_stops_from_data_that_ends(void **state)
{
    (void)state;
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_reader_init(&r, two_frames, sizeof(two_frames) - 1), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_END);
    assert_false(r.complete);
}

static void cbf_gives_a_run_of_any_length_as_one_item(void **state)
{
    (void)state;
    // pc 0x55; rep 2^60
    static const uint8_t bomb[] = { 0x02, 0x18, 0x55, 0x8f, 0x10, 0, 0, 0, 0, 0, 0, 0 };
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_reader_init(&r, bomb, sizeof(bomb)), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.times, 1);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_true(f.times == UINT64_C(1) << 60 && f.value == 0x55);
    assert_int_equal(cbf_next_frame(&r, &f), CH_END);
}

static void cbf_stands_at_the_instruction_that_failed(void **state)
{
    (void)state;
    static const uint8_t reserved[] = { 0x02, 0x18, 0x55, 0x90, 0x00 };
    static const uint8_t rep_first[] = { 0x02, 0x80, 0x00 };
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_reader_init(&r, reserved, sizeof(reserved)), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_ERR_UNSUPPORTED);
    assert_int_equal(r.offset, 3);
    assert_int_equal(cbf_reader_init(&r, rep_first, sizeof(rep_first)), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_ERR_MALFORMED);
    assert_int_equal(r.offset, 1);
}

static void cbf_refuses_versions_and_words_there_are_none_of(void **state)
{
    (void)state;
    static const uint8_t word[] = { 0x03, 0x00 };
    static const uint8_t version[] = { 0x06, 0x00 };
    struct cbf_reader r;

    assert_int_equal(cbf_reader_init(&r, word, 2), CH_ERR_UNSUPPORTED);
    assert_int_equal(cbf_reader_init(&r, version, 2), CH_ERR_UNSUPPORTED);
    assert_int_equal(cbf_reader_init(&r, word, 0), CH_ERR_TRUNCATED);
}

static void cbf_writes_an_omit_of_32_in_one_byte_and_as_swift_in_two(void **state)
{
    (void)state;
    static const uint8_t ours[] = { 0x02, 0x18, 0x55, 0x5f, 0x00 };
    static const uint8_t swifts[] = { 0x02, 0x10, 0x55, 0x60, 0x20 };
    uint8_t bytes[16];
    struct cbf_writer w;
    for (int swift = 0; swift < 2; swift++) {
        const uint8_t *expected = swift != 0 ? swifts : ours;
        assert_int_equal(cbf_writer_init(&w, 64,
                                         swift != 0 ? CBF_SWIFT_6_2 : CBF_SPECIFIED,
                                         bytes, sizeof(bytes)),
                         CH_OK);
        assert_int_equal(cbf_write_frame(&w, CBF_PC, 0x55), CH_OK);
        assert_int_equal(cbf_write_frame(&w, CBF_OMIT, 32), CH_OK);
        cbf_write_end(&w);
        assert_int_equal(w.size, 5);
        assert_memory_equal(bytes, expected, 5);
    }
}

static void cbf_writes_the_first_address_absolute_and_an_end(void **state)
{
    (void)state;
    uint8_t bytes[16];
    struct cbf_writer w;

    assert_int_equal(cbf_writer_init(&w, 64, CBF_SPECIFIED, bytes, sizeof(bytes)),
                     CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_PC, 0x401000), CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_RETURN_ADDRESS, 0x400ff0), CH_OK);
    cbf_write_end(&w);
    assert_int_equal(w.size, sizeof(two_frames));
    assert_memory_equal(bytes, two_frames, sizeof(two_frames));
}

static void cbf_writes_neither_for_swift(void **state)
{
    (void)state;
    static const uint8_t swift[] = { 0x02, 0x12, 0x40, 0x10, 0x00, 0x20, 0xf0 };
    uint8_t bytes[16];
    struct cbf_writer w;

    assert_int_equal(cbf_writer_init(&w, 64, CBF_SWIFT_6_2, bytes, sizeof(bytes)),
                     CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_PC, 0x401000), CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_RETURN_ADDRESS, 0x400ff0), CH_OK);
    cbf_write_end(&w);
    assert_int_equal(w.size, sizeof(swift));
    assert_memory_equal(bytes, swift, sizeof(swift));
}

static void cbf_writes_deep_recursion_in_a_few_bytes(void **state)
{
    (void)state;
    uint8_t bytes[16];
    struct cbf_writer w;

    assert_int_equal(cbf_writer_init(&w, 64, CBF_SPECIFIED, bytes, sizeof(bytes)),
                     CH_OK);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(cbf_write_frame(&w, CBF_RETURN_ADDRESS, 0x55), CH_OK);
    cbf_write_end(&w);
    assert_int_equal(w.size, 8); // 02, 28 55, 8a 01869f, 00
}

static void cbf_wraps_at_the_word_size(void **state)
{
    (void)state;
    uint8_t bytes[16];
    struct cbf_writer w;
    struct cbf_reader r;
    struct cbf_frame f;

    assert_int_equal(cbf_writer_init(&w, 16, CBF_SPECIFIED, bytes, sizeof(bytes)),
                     CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_PC, 0xffff), CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_PC, 0), CH_OK);
    cbf_write_end(&w);
    assert_int_equal(w.size, 6); // 00, 18 ff, 10 01, 00
    assert_int_equal(cbf_reader_init(&r, bytes, w.size), CH_OK);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.value, 0xffff);
    assert_int_equal(cbf_next_frame(&r, &f), CH_OK);
    assert_int_equal(f.value, 0);
}

static void cbf_keeps_room_to_say_that_the_buffer_was_too_small(void **state)
{
    (void)state;
    for (size_t capacity = CBF_OVERHEAD; capacity < 24; capacity++) {
        uint8_t *bytes = malloc(capacity);
        struct cbf_writer w;
        assert_int_equal(cbf_writer_init(&w, 64, CBF_SPECIFIED, bytes, capacity),
                         CH_OK);
        enum ch_status status = CH_OK;
        for (uint64_t i = 0; status == CH_OK; i++)
            status = cbf_write_frame(&w, CBF_PC, UINT64_C(0x123456789abcdef) << i / 3);
        enum ch_status last = cbf_write_frame(&w, CBF_TRUNC, 0);
        bool fits = w.size <= capacity;
        uint8_t ending = bytes[w.size - 1];
        free(bytes);
        assert_int_equal(status, CH_ERR_LIMIT);
        assert_int_equal(last, CH_OK);
        assert_true(fits);
        assert_int_equal(ending, 0x01);
    }
}

static void cbf_drops_frames_behind_a_trunc(void **state)
{
    (void)state;
    uint8_t bytes[16];
    struct cbf_writer w;

    assert_int_equal(cbf_writer_init(&w, 32, CBF_SPECIFIED, bytes, sizeof(bytes)),
                     CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_TRUNC, 0), CH_OK);
    assert_int_equal(cbf_write_frame(&w, CBF_PC, 1), CH_OK);
    cbf_write_end(&w);
    assert_int_equal(w.size, 2);
    assert_int_equal(bytes[1], 0x01);
}

// drain reads frames until the reader stops: 0 when it stopped as it may.
static int drain(const uint8_t *bytes, size_t size, void *context)
{
    struct cbf_reader r;
    struct cbf_frame f;
    enum ch_status status = cbf_reader_init(&r, bytes, size);
    size_t items = 0;

    (void)context;
    for (; status == CH_OK; items++)
        status = cbf_next_frame(&r, &f);
    return items > size + 1 ||
           (status != CH_END && status != CH_ERR_TRUNCATED &&
            status != CH_ERR_UNSUPPORTED && status != CH_ERR_MALFORMED);
}

static void cbf_survives_every_truncation(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere(two_frames, sizeof(two_frames), drain, NULL),
                     0);
}

static void cbf_survives_every_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(bytes_flip_every_bit(two_frames, sizeof(two_frames), drain, NULL),
                     0);
}

static void cbf_writes_many_calls_as_it_writes_each(void **state)
{
    (void)state;
    uint64_t calls[64];
    uint8_t bytes[2][700];
    unsigned seed = 1;
    unsigned cases = 0;
    for (; cases < 4000; cases++) {
        struct cbf_writer w[2];
        const unsigned word_bits = cases % 5 == 0 ? 32 : 64;
        const size_t count = (size_t)rand_r(&seed) % 64;
        const size_t capacity = CBF_OVERHEAD + (size_t)rand_r(&seed) % 640;
        for (size_t i = 0; i < count; i++)
            calls[i] = rand_r(&seed) % 3 != 0 || i == 0
                           ? (uint64_t)rand_r(&seed) << rand_r(&seed) % 40
                           : calls[i - 1];
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                cbf_writer_init(&w[i], word_bits, CBF_SPECIFIED, bytes[i], capacity),
                CH_OK);
        enum ch_status each = CH_OK;
        for (size_t i = 0; i < count && each == CH_OK; i++)
            each = cbf_write_frame(&w[0], CBF_RETURN_ADDRESS, calls[i]);
        assert_int_equal(cbf_write_calls(&w[1], calls, count), each);
        cbf_write_end(&w[0]);
        cbf_write_end(&w[1]);
        assert_int_equal(w[0].size, w[1].size);
        assert_memory_equal(bytes[0], bytes[1], w[0].size);
    }
    print_message("%u lists of calls\n", cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cbf_resolves_a_delta_against_the_frame_before),
        cmocka_unit_test(cbf_says_when_the_writer_gave_up),
        cmocka_unit_test(cbf_tells_data_that_stops_from_data_that_ends),
        cmocka_unit_test(cbf_gives_a_run_of_any_length_as_one_item),
        cmocka_unit_test(cbf_stands_at_the_instruction_that_failed),
        cmocka_unit_test(cbf_refuses_versions_and_words_there_are_none_of),
        cmocka_unit_test(cbf_writes_an_omit_of_32_in_one_byte_and_as_swift_in_two),
        cmocka_unit_test(cbf_writes_the_first_address_absolute_and_an_end),
        cmocka_unit_test(cbf_writes_neither_for_swift),
        cmocka_unit_test(cbf_writes_deep_recursion_in_a_few_bytes),
        cmocka_unit_test(cbf_writes_many_calls_as_it_writes_each),
        cmocka_unit_test(cbf_wraps_at_the_word_size),
        cmocka_unit_test(cbf_keeps_room_to_say_that_the_buffer_was_too_small),
        cmocka_unit_test(cbf_drops_frames_behind_a_trunc),
        cmocka_unit_test(cbf_survives_every_truncation),
        cmocka_unit_test(cbf_survives_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/cbf", tests, NULL, NULL);
}
