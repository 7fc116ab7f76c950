// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/java_lines.h"

#include <stdlib.h>

#include "support/test.h"

// Line 300 from bytecode 0 (escaped: difference 0, and 600 with its sign), 301 from 4,
// 299 from 9 (escaped: 10 and 3 with their signs), the end.
static const uint8_t lines[] = { 0xff, 0x00, 0xd8, 0x06, 0x21, 0xff, 0x0a, 0x03, 0 };

static uint32_t number_of(const uint8_t *bytes, size_t size, uint32_t excluded)
{
    struct cursor c = cursor_over(bytes, size);
    uint32_t number = java_lines_number(&c, excluded);
    assert_true(cursor_ok(&c));
    assert_int_equal(cursor_left(&c), 0);
    return number;
}

static void numbers_have_one_to_five_bytes(void **state)
{
    (void)state;
    static const uint8_t large[] = { 0xff, 0xff, 0xff, 0xff, 0x3b };
    assert_int_equal(number_of((const uint8_t[]){ 191 }, 1, 0), 191);
    assert_int_equal(number_of((const uint8_t[]){ 192, 0 }, 2, 0), 192);
    assert_int_equal(number_of((const uint8_t[]){ 200, 3 }, 2, 0), 200 + 3 * 64);
    assert_int_equal(number_of(large, sizeof(large), 0),
                     255u * (1 + 64 + 4096 + 262144) + 0x3bu * 16777216u);
}

static void from_java_20_on_no_byte_is_0(void **state)
{
    (void)state;
    assert_int_equal(number_of((const uint8_t[]){ 1 }, 1, 1), 0);
    assert_int_equal(number_of((const uint8_t[]){ 191 }, 1, 1), 190);
    assert_int_equal(number_of((const uint8_t[]){ 192, 1 }, 2, 1), 191);
}

static void a_bytecode_has_the_line_that_began_last(void **state)
{
    (void)state;
    static const struct {
        int32_t bytecode;
        uint32_t line;
    } wanted[] = { { 0, 300 }, { 3, 300 }, { 4, 301 },
                   { 8, 301 }, { 9, 299 }, { 99, 299 } };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        uint32_t line = 0;
        assert_int_equal(
            java_lines_find(lines, sizeof(lines), 0, wanted[i].bytecode, &line), CH_OK);
        assert_int_equal(line, wanted[i].line);
    }
}

static void a_bytecode_before_all_lines_has_none(void **state)
{
    (void)state;
    static const uint8_t late[] = { 0x21, 0 };
    uint32_t line;
    assert_int_equal(java_lines_find(late, sizeof(late), 0, 3, &line),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(java_lines_find(late, sizeof(late), 0, -1, &line),
                     CH_ERR_NOT_FOUND);
}

static void a_table_that_is_cut_gives_no_line(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(lines); size++) {
        uint8_t *cut = malloc(size + 1);
        uint32_t line;
        assert_non_null(cut);
        memcpy(cut, lines, size);
        enum ch_status status = java_lines_find(cut, size, 0, 5, &line);
        free(cut);
        assert_int_equal(status, CH_ERR_TRUNCATED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_one_to_five_bytes),
        cmocka_unit_test(from_java_20_on_no_byte_is_0),
        cmocka_unit_test(a_bytecode_has_the_line_that_began_last),
        cmocka_unit_test(a_bytecode_before_all_lines_has_none),
        cmocka_unit_test(a_table_that_is_cut_gives_no_line),
    };
    return cmocka_run_group_tests_name("formats/java_lines", tests, NULL, NULL);
}
