// SPDX-License-Identifier: Apache-2.0
#include "base/memory_reader.h"

#include "support/fake_memory.h"
#include "support/test.h"

static const uint8_t word[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const struct fake_region regions[] = { { 0x1000, "abcdef", 6 },
                                              { 0x1006, "ghi", 3 },
                                              { 0x2000, word, 8 } };

static struct fake_memory memory = { .regions = regions, .region_count = 3 };

static void memory_read_joins_what_lies_side_by_side(void **state)
{
    (void)state;
    struct memory_reader reader = fake_memory_reader(&memory);
    char out[9];
    assert_int_equal(memory_read(&reader, 0x1000, out, 9), CH_OK);
    assert_memory_equal(out, "abcdefghi", 9);
}

static void memory_read_faults_at_a_hole(void **state)
{
    (void)state;
    struct memory_reader reader = fake_memory_reader(&memory);
    char out[16];
    assert_int_equal(memory_read(&reader, 0x1004, out, 6), CH_ERR_FAULT);
    assert_int_equal(memory_read(&reader, 0x3000, out, 1), CH_ERR_FAULT);
}

static void memory_read_refuses_a_range_that_wraps(void **state)
{
    (void)state;
    struct memory_reader reader = fake_memory_reader(&memory);
    char out[16];
    assert_int_equal(memory_read(&reader, UINT64_MAX - 3, out, 16), CH_ERR_FAULT);
}

static void memory_read_word_obeys_the_byte_order(void **state)
{
    (void)state;
    struct memory_reader reader = fake_memory_reader(&memory);
    uint64_t value;
    assert_int_equal(memory_read_word(&reader, 0x2000, &value), CH_OK);
    assert_true(value == 0x0807060504030201);
    reader.big_endian = true;
    assert_int_equal(memory_read_word(&reader, 0x2000, &value), CH_OK);
    assert_true(value == 0x0102030405060708);
}

static void memory_read_word_calls_nothing_for_what_the_window_holds(void **state)
{
    (void)state;
    static const uint8_t copied[] = { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 };
    struct memory_window window = { copied, 0x1ffe, 10 };
    struct fake_memory counted = { .regions = regions, .region_count = 3 };
    struct memory_reader reader = fake_memory_reader(&counted);
    uint64_t value;
    reader.window = &window;
    assert_int_equal(memory_read_word(&reader, 0x2000, &value), CH_OK);
    assert_true(value == 0x0909090909090909);
    assert_int_equal(counted.read_count, 0);
    window.size = 9; // it ends in the word
    assert_int_equal(memory_read_word(&reader, 0x2000, &value), CH_OK);
    assert_true(value == 0x0807060504030201);
    window = (struct memory_window){ copied, 0x2001, 10 }; // it begins in the word
    assert_int_equal(memory_read_word(&reader, 0x2000, &value), CH_OK);
    assert_true(value == 0x0807060504030201);
}

static void memory_read_string_is_bounded_and_terminated(void **state)
{
    (void)state;
    static const struct fake_region text[] = { { 0x10, "hello\0rest", 10 },
                                               { 0x50, "endless", 7 } };
    struct fake_memory strings = { .regions = text, .region_count = 2 };
    struct memory_reader reader = fake_memory_reader(&strings);
    char out[16];

    assert_int_equal(memory_read_string(&reader, 0x10, out, sizeof(out)), CH_OK);
    assert_string_equal(out, "hello");
    assert_int_equal(memory_read_string(&reader, 0x10, out, 4), CH_ERR_TRUNCATED);
    assert_string_equal(out, "hel");
    assert_int_equal(memory_read_string(&reader, 0x50, out, sizeof(out)), CH_ERR_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_read_joins_what_lies_side_by_side),
        cmocka_unit_test(memory_read_faults_at_a_hole),
        cmocka_unit_test(memory_read_refuses_a_range_that_wraps),
        cmocka_unit_test(memory_read_word_obeys_the_byte_order),
        cmocka_unit_test(memory_read_word_calls_nothing_for_what_the_window_holds),
        cmocka_unit_test(memory_read_string_is_bounded_and_terminated),
    };
    return cmocka_run_group_tests_name("base/memory_reader", tests, NULL, NULL);
}
