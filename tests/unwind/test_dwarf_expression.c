// SPDX-License-Identifier: Apache-2.0
#include "unwind/dwarf_expression.h"

#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"

static const uint64_t words[] = { 0x1122334455667788, 42 };
static const struct fake_region regions[] = { { 0x1000, words, sizeof(words) } };

static enum ch_status run(const uint8_t *bytes, size_t size, const uint64_t *first,
                          uint64_t *out)
{
    struct fake_memory memory = { .regions = regions, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct unwind_state state = { 0 };
    const struct dwarf_expression expression = { bytes, size };
    unwind_state_set(&state, 7, 0x1000);
    return dwarf_expression_run(&expression, &reader, &state, first, out);
}

#define GIVES(value, ...)                                                              \
    do {                                                                               \
        const uint8_t code[] = { __VA_ARGS__ };                                        \
        uint64_t result = 0;                                                           \
        assert_int_equal(run(code, sizeof(code), NULL, &result), CH_OK);               \
        assert_int_equal(result, (uint64_t)(value));                                   \
    } while (0)

#define FAILS(status, ...)                                                             \
    do {                                                                               \
        const uint8_t code[] = { __VA_ARGS__ };                                        \
        uint64_t result = 0;                                                           \
        assert_int_equal(run(code, sizeof(code), NULL, &result), status);              \
    } while (0)

static void expression_pushes_constants_of_every_size(void **state)
{
    (void)state;
    GIVES(5, 0x35);
    GIVES(0xff, 0x08, 0xff);
    GIVES(-1, 0x09, 0xff);
    GIVES(0xfffe, 0x0a, 0xfe, 0xff);
    GIVES(-2, 0x0b, 0xfe, 0xff);
    GIVES(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff);
    GIVES(-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
    GIVES(0x0102030405060708, 0x0e, 8, 7, 6, 5, 4, 3, 2, 1);
    GIVES(-2, 0x0f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    GIVES(0x80, 0x10, 0x80, 0x01);
    GIVES(-3, 0x11, 0x7d);
    GIVES(0x10, 0x03, 0x10, 0, 0, 0, 0, 0, 0, 0);
}

static void expression_reads_registers_and_memory(void **state)
{
    (void)state;
    GIVES(0x0ff8, 0x77, 0x78);
    GIVES(0x1001, 0x92, 7, 1);
    GIVES(0x1122334455667788, 0x77, 0, 0x06);
    GIVES(0x7788, 0x77, 0, 0x94, 2);
    GIVES(42, 0x77, 8, 0x06);
}

static void expression_moves_its_stack(void **state)
{
    (void)state;
    GIVES(2, 0x31, 0x32, 0x12, 0x13);
    GIVES(1, 0x31, 0x32, 0x14);
    GIVES(1, 0x31, 0x32, 0x33, 0x15, 2);
    GIVES(1, 0x31, 0x32, 0x16);
    GIVES(2, 0x31, 0x32, 0x33, 0x17);       // 3 1 2
    GIVES(1, 0x31, 0x32, 0x33, 0x17, 0x13); // 3 1
}

static void expression_computes(void **state)
{
    (void)state;
    GIVES(3, 0x09, 0xfd, 0x19);
    GIVES(4, 0x36, 0x3c, 0x1a);
    GIVES(-2, 0x09, 0xfa, 0x33, 0x1b);
    GIVES(-1, 0x31, 0x32, 0x1c);
    GIVES(1, 0x37, 0x33, 0x1d);
    GIVES(21, 0x37, 0x33, 0x1e);
    GIVES(-1, 0x31, 0x1f);
    GIVES(-2, 0x31, 0x20);
    GIVES(7, 0x35, 0x32, 0x21);
    GIVES(7, 0x35, 0x32, 0x22);
    GIVES(0x85, 0x35, 0x23, 0x80, 0x01);
    GIVES(20, 0x35, 0x32, 0x24);
    GIVES(1, 0x35, 0x32, 0x25);
    GIVES(-1, 0x09, 0xfe, 0x31, 0x26);
    GIVES(6, 0x35, 0x33, 0x27);
}

static void expression_shifts_by_more_than_a_word(void **state)
{
    (void)state;
    GIVES(0, 0x31, 0x08, 64, 0x24);
    GIVES(0, 0x31, 0x08, 64, 0x25);
    GIVES(-1, 0x09, 0xfe, 0x08, 200, 0x26);
}

static void expression_compares_signed(void **state)
{
    (void)state;
    GIVES(1, 0x31, 0x31, 0x29);
    GIVES(0, 0x09, 0xff, 0x31, 0x2a);
    GIVES(0, 0x09, 0xff, 0x31, 0x2b);
    GIVES(1, 0x09, 0xff, 0x31, 0x2c);
    GIVES(1, 0x09, 0xff, 0x31, 0x2d);
    GIVES(1, 0x09, 0xff, 0x31, 0x2e);
}

static void expression_branches(void **state)
{
    (void)state;
    GIVES(9, 0x39, 0x31, 0x28, 1, 0, 0x30);
    GIVES(0, 0x39, 0x30, 0x28, 1, 0, 0x30);
    GIVES(9, 0x39, 0x2f, 1, 0, 0x30, 0x96);
}

static void expression_begins_with_what_it_is_given(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x23, 8 };
    const uint64_t cfa = 0x2000;
    uint64_t result;
    assert_int_equal(run(code, sizeof(code), &cfa, &result), CH_OK);
    assert_int_equal(result, 0x2008);
}

static void expression_division_that_overflows_wraps(void **state)
{
    (void)state;
    GIVES(INT64_MIN, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b);
}

static void expression_refuses_what_it_cannot_know(void **state)
{
    (void)state;
    FAILS(CH_ERR_UNSUPPORTED, 0x73, 0);     // rbx is not known
    FAILS(CH_ERR_UNSUPPORTED, 0x92, 99, 0); // there is no such register
    FAILS(CH_ERR_UNSUPPORTED, 0x9c);        // the CFA, inside its own definition
    FAILS(CH_ERR_UNSUPPORTED, 0xff);
    FAILS(CH_ERR_MALFORMED, 0x22);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x15, 1);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x30, 0x1b);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x30, 0x1d);
    FAILS(CH_ERR_MALFORMED, 0x77, 0, 0x94, 9);
    FAILS(CH_ERR_MALFORMED, 0x96); // nothing to give
    FAILS(CH_ERR_MALFORMED, 0x2f, 0xf0, 0xff);
    FAILS(CH_ERR_TRUNCATED, 0x2f, 0x10, 0);
    FAILS(CH_ERR_TRUNCATED, 0x0e, 1);
    FAILS(CH_ERR_FAULT, 0x31, 0x06);
}

static void expression_that_never_ends_is_ended(void **state)
{
    (void)state;
    FAILS(CH_ERR_LIMIT, 0x2f, 0xfd, 0xff);
    FAILS(CH_ERR_LIMIT, 0x31, 0x2f, 0xfc, 0xff);
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    uint64_t result;
    (void)context;
    (void)!run(bytes, size, NULL, &result);
    return 0;
}

static void expression_survives_every_cut_and_flip(void **state)
{
    (void)state;
    // glibc's own, of __restore_rt, and a branch
    static const uint8_t code[] = { 0x77, 0xa0, 0x01, 0x06, 0x12, 0x31, 0x28, 2,
                                    0,    0x23, 8,    0x08, 3,    0x1b, 0x94, 4 };
    assert_int_equal(bytes_cut_everywhere(code, sizeof(code), survive, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(code, sizeof(code), survive, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expression_pushes_constants_of_every_size),
        cmocka_unit_test(expression_reads_registers_and_memory),
        cmocka_unit_test(expression_moves_its_stack),
        cmocka_unit_test(expression_computes),
        cmocka_unit_test(expression_shifts_by_more_than_a_word),
        cmocka_unit_test(expression_compares_signed),
        cmocka_unit_test(expression_branches),
        cmocka_unit_test(expression_begins_with_what_it_is_given),
        cmocka_unit_test(expression_division_that_overflows_wraps),
        cmocka_unit_test(expression_refuses_what_it_cannot_know),
        cmocka_unit_test(expression_that_never_ends_is_ended),
        cmocka_unit_test(expression_survives_every_cut_and_flip),
    };
    return cmocka_run_group_tests_name("unwind/dwarf_expression", tests, NULL, NULL);
}
