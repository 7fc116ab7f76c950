// SPDX-License-Identifier: Apache-2.0
#include "base/register_name.h"

#include "support/test.h"

static void register_names_follow_dwarfs_numbers(void **state)
{
    (void)state;
    assert_string_equal(register_name_amd64(0, 8), "rax");
    assert_string_equal(register_name_amd64(1, 8), "rdx");
    assert_string_equal(register_name_amd64(7, 4), "esp");
    assert_string_equal(register_name_amd64(6, 2), "bp");
    assert_string_equal(register_name_amd64(5, 1), "dil");
    assert_string_equal(register_name_amd64(15, 1), "r15b");
    assert_string_equal(register_name_amd64(16, 8), "rip");
    assert_string_equal(register_name_aarch64(30), "x30");
    assert_string_equal(register_name_aarch64(31), "sp");
    assert_string_equal(register_name_aarch64(32), "pc");
}

static void register_names_end_where_there_are_none(void **state)
{
    (void)state;
    assert_null(register_name_amd64(17, 8));
    assert_null(register_name_amd64(16, 2));
    assert_null(register_name_amd64(0, 3));
    assert_null(register_name_aarch64(33));
}

static void every_name_finds_its_register(void **state)
{
    (void)state;
    static const size_t sizes[] = { 8, 4, 2, 1 };
    size_t number;
    size_t size;
    for (size_t i = 0; i < 16; i++) {
        for (size_t s = 0; s < 4; s++) {
            assert_true(
                register_find_amd64(register_name_amd64(i, sizes[s]), &number, &size));
            assert_int_equal(number, i);
            assert_int_equal(size, sizes[s]);
        }
    }
    assert_false(register_find_amd64("xmm0", &number, &size));
    assert_false(register_find_amd64("", &number, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_names_follow_dwarfs_numbers),
        cmocka_unit_test(register_names_end_where_there_are_none),
        cmocka_unit_test(every_name_finds_its_register),
    };
    return cmocka_run_group_tests_name("base/register_name", tests, NULL, NULL);
}
