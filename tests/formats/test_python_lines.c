// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/python_lines.h"

#include "support/test.h"

// line_at is the line at offset, or -1: it has none, -2: the table is damaged.
static int64_t line_at(enum python_lines form, const uint8_t *bytes, size_t size,
                       int64_t offset)
{
    uint32_t line = 0;
    enum ch_status status = python_lines_find(form, bytes, size, 10, offset, &line);
    if (status == CH_ERR_NOT_FOUND)
        return -1;
    return status == CH_OK ? (int64_t)line : -2;
}

static void lnotab_gives_the_line_that_began_before(void **state)
{
    (void)state;
    // 6 bytes on line 10, 8 on line 12, then line 11.
    static const uint8_t table[] = { 6, 2, 8, 0xff };
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, sizeof(table), 0), 10);
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, sizeof(table), 5), 10);
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, sizeof(table), 6), 12);
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, sizeof(table), 14), 11);
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, sizeof(table), 9999), 11);
}

static void the_table_of_310_has_instructions_without_a_line(void **state)
{
    (void)state;
    // 4 bytes on line 11, 2 without a line, 6 on line 8.
    static const uint8_t table[] = { 4, 1, 2, 0x80, 6, 0xfd };
    assert_int_equal(line_at(PYTHON_LINES_310, table, sizeof(table), 0), 11);
    assert_int_equal(line_at(PYTHON_LINES_310, table, sizeof(table), 4), -1);
    assert_int_equal(line_at(PYTHON_LINES_310, table, sizeof(table), 6), 8);
    assert_int_equal(line_at(PYTHON_LINES_310, table, sizeof(table), 12), -1);
}

// 2 units without columns on line 10 + 70, 1 in short form on the same line, 1 on line
// 82 with two columns, 8 without a line, 1 in long form on line 82 - 75.
static const uint8_t table_311[] = { 0x80 | 13 << 3 | 1,
                                     0x4c,
                                     0x02,
                                     0x80 | 2 << 3,
                                     0x21,
                                     0x80 | 12 << 3,
                                     4,
                                     9,
                                     0x80 | 15 << 3 | 7,
                                     0x80 | 14 << 3,
                                     0x57,
                                     0x02,
                                     1,
                                     2,
                                     3 };

static void the_table_of_311_has_five_kinds_of_entries(void **state)
{
    (void)state;
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 0), 80);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 3), 80);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 4), 80);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 6), 82);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 8), -1);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 24), 7);
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), 26), -1);
}

static void before_the_first_instruction_is_the_first_line(void **state)
{
    (void)state;
    assert_int_equal(line_at(PYTHON_LINES_311, table_311, sizeof(table_311), -2), 10);
    assert_int_equal(line_at(PYTHON_LINES_LNOTAB, NULL, 0, -2), 10);
}

static void a_table_that_is_cut_has_no_other_lines(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(table_311); size++) {
        for (int64_t offset = 0; offset < 28; offset += 2) {
            int64_t whole =
                line_at(PYTHON_LINES_311, table_311, sizeof(table_311), offset);
            int64_t cut = line_at(PYTHON_LINES_311, table_311, size, offset);
            assert_true(cut == whole || cut < 0);
        }
    }
}

static void numbers_and_lines_out_of_range_are_refused(void **state)
{
    (void)state;
    static const uint8_t endless[] = { 0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f,
                                       0x7f,           0x7f, 0x7f, 0x01 };
    static const uint8_t negative[] = { 4, 0x90 };
    assert_int_equal(line_at(PYTHON_LINES_311, endless, sizeof(endless), 0), -2);
    assert_int_equal(line_at(PYTHON_LINES_310, negative, sizeof(negative), 0), -2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnotab_gives_the_line_that_began_before),
        cmocka_unit_test(the_table_of_310_has_instructions_without_a_line),
        cmocka_unit_test(the_table_of_311_has_five_kinds_of_entries),
        cmocka_unit_test(before_the_first_instruction_is_the_first_line),
        cmocka_unit_test(a_table_that_is_cut_has_no_other_lines),
        cmocka_unit_test(numbers_and_lines_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
