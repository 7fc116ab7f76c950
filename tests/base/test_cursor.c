// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

#include "support/bytes.h"
#include "support/test.h"

static void cursor_reads_numbers_in_the_order_it_was_told(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x01, 0x02, 0x03, 0x04 };
    struct cursor little = cursor_over(bytes, sizeof(bytes));
    struct cursor big = cursor_over(bytes, sizeof(bytes));
    big.big_endian = true;

    assert_int_equal(cursor_u32(&little), 0x04030201);
    assert_int_equal(cursor_u32(&big), 0x01020304);
    assert_int_equal(cursor_left(&little), 0);
    assert_true(cursor_ok(&big));
}

static void cursor_stays_poisoned_after_a_read_that_does_not_fit(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 2, 3 };
    struct cursor c = cursor_over(bytes, sizeof(bytes));

    assert_int_equal(cursor_u32(&c), 0);
    assert_false(cursor_ok(&c));
    assert_int_equal(cursor_u8(&c), 0);
    assert_int_equal(cursor_left(&c), 0);
}

static void cursor_child_cannot_reach_its_parents_bytes(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 2, 3, 4 };
    struct cursor parent = cursor_over(bytes, sizeof(bytes));
    struct cursor child = cursor_child(&parent, 2);

    assert_int_equal(cursor_u16(&child), 0x0201);
    assert_int_equal(cursor_u8(&child), 0);
    assert_false(cursor_ok(&child));
    assert_int_equal(cursor_u16(&parent), 0x0403);
    assert_true(cursor_ok(&parent));
}

static void cursor_child_past_the_end_poisons_both(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1 };
    struct cursor parent = cursor_over(bytes, sizeof(bytes));
    struct cursor child = cursor_child(&parent, 2);

    assert_false(cursor_ok(&parent));
    assert_false(cursor_ok(&child));
}

static void cursor_extends_the_sign_of_short_numbers(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x80, 0x7f, 0xff, 0xfe };
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    c.big_endian = true;

    assert_int_equal(cursor_sint(&c, 1), -128);
    assert_int_equal(cursor_sint(&c, 1), 127);
    assert_int_equal(cursor_sint(&c, 2), -2);
    assert_int_equal(cursor_sint(&c, 0), 0);
    assert_false(cursor_ok(&c));
}

// expected_number is what size bytes from at on mean, a byte at a time.
static uint64_t expected_number(const uint8_t *at, size_t size, bool big_endian)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[big_endian ? i : size - 1 - i];
    return value;
}

// Numbers are loaded from their first byte, up to their last, or byte by byte, as the
// place allows: all places and sizes in input of all lengths give the same.
static void cursor_reads_a_number_wherever_it_stands(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x81, 0x12, 0xa3, 0x34, 0xc5, 0x56,
                                     0xe7, 0x78, 0x99, 0x0a, 0xbb, 0x1c,
                                     0xdd, 0x2e, 0xff, 0x40, 0xf1 };
    for (size_t length = 1; length <= sizeof(bytes); length++) {
        for (size_t place = 0; place < length * 16; place++) {
            size_t at = place / 16;
            size_t size = place / 2 % 8 + 1;
            struct cursor c = cursor_over(bytes, length);
            c.big_endian = place % 2;
            cursor_seek(&c, at);
            struct cursor again = c;
            bool there = at + size <= length;
            uint64_t value =
                expected_number(&bytes[at], there ? size : 0, c.big_endian);
            unsigned unused = 64 - 8 * (unsigned)size;

            assert_int_equal(cursor_uint(&c, size), value);
            assert_int_equal(cursor_sint(&again, size),
                             (int64_t)(value << unused) >> unused);
            assert_int_equal(cursor_ok(&c), there);
            assert_int_equal(cursor_ok(&again), there);
        }
    }
}

static void cursor_reads_leb128_of_both_signs(void **state)
{
    (void)state;
    // 624485 unsigned; -123456 signed; both are DWARF's examples.
    static const uint8_t bytes[] = { 0xe5, 0x8e, 0x26, 0xc0, 0xbb, 0x78 };
    struct cursor c = cursor_over(bytes, sizeof(bytes));

    assert_int_equal(cursor_uleb128(&c), 624485);
    assert_int_equal(cursor_sleb128(&c), -123456);
    assert_true(cursor_ok(&c));
}

static void cursor_refuses_leb128_past_64_bits(void **state)
{
    (void)state;
    static const uint8_t most[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0x01 };
    static const uint8_t more[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0x02 };
    struct cursor fits = cursor_over(most, sizeof(most));
    struct cursor wraps = cursor_over(more, sizeof(more));

    assert_true(cursor_uleb128(&fits) == UINT64_MAX);
    assert_int_equal(cursor_uleb128(&wraps), 0);
    assert_false(cursor_ok(&wraps));
}

static void cursor_string_wants_its_nul(void **state)
{
    (void)state;
    static const char bytes[] = { 'a', 'b', 0, 'c' };
    struct cursor c = cursor_over(bytes, sizeof(bytes));

    assert_string_equal(cursor_string(&c), "ab");
    assert_null(cursor_string(&c));
    assert_false(cursor_ok(&c));
}

static int read_everything(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct cursor c = cursor_over(bytes, size);
    cursor_skip(&c, 1);
    (void)cursor_u16(&c);
    (void)cursor_uleb128(&c);
    (void)cursor_sleb128(&c);
    (void)cursor_string(&c);
    cursor_seek(&c, size);
    return 0;
}

static void cursor_survives_every_truncation(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 2, 3, 0x80, 0x80, 1, 0xff, 0x7f, 'a', 'b', 0 };
    assert_int_equal(bytes_cut_everywhere(bytes, sizeof(bytes), read_everything, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_reads_numbers_in_the_order_it_was_told),
        cmocka_unit_test(cursor_stays_poisoned_after_a_read_that_does_not_fit),
        cmocka_unit_test(cursor_child_cannot_reach_its_parents_bytes),
        cmocka_unit_test(cursor_child_past_the_end_poisons_both),
        cmocka_unit_test(cursor_extends_the_sign_of_short_numbers),
        cmocka_unit_test(cursor_reads_a_number_wherever_it_stands),
        cmocka_unit_test(cursor_reads_leb128_of_both_signs),
        cmocka_unit_test(cursor_refuses_leb128_past_64_bits),
        cmocka_unit_test(cursor_string_wants_its_nul),
        cmocka_unit_test(cursor_survives_every_truncation),
    };
    return cmocka_run_group_tests_name("base/cursor", tests, NULL, NULL);
}
