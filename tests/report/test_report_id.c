// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_id.h"

#include "support/test.h"

static void report_ids_of_one_moment_differ(void **state)
{
    (void)state;
    char first[REPORT_ID_SIZE];
    char second[REPORT_ID_SIZE];
    report_id_make(1700000000123, first);
    report_id_make(1700000000123, second);
    assert_string_not_equal(first, second);
    assert_memory_equal(first, second, 13); // the time in front
}

static void report_ids_sort_by_time(void **state)
{
    (void)state;
    char before[REPORT_ID_SIZE];
    char after[REPORT_ID_SIZE];
    report_id_make(1700000000999, before);
    report_id_make(1700000001000, after);
    assert_true(strcmp(before, after) < 0);
}

static void report_id_keeps_its_time_version_and_variant(void **state)
{
    (void)state;
    char id[REPORT_ID_SIZE];
    report_id_make(0x0123456789ab, id);
    assert_true(report_id_ok(id));
    assert_memory_equal(id, "01234567-89ab-7", 15);
    assert_non_null(strchr("89ab", id[19]));
    assert_true(report_id_time_ms(id) == 0x0123456789ab);
}

static void report_id_refuses_what_is_no_uuid(void **state)
{
    (void)state;
    assert_true(report_id_ok("01928374-5566-7788-99aa-bbccddeeff00"));
    assert_false(report_id_ok(""));
    assert_false(report_id_ok("01928374-5566-7788-99aa-bbccddeeff0"));
    assert_false(report_id_ok("01928374-5566-7788-99aa-bbccddeeff000"));
    assert_false(report_id_ok("01928374-5566-7788-99aa-bbccddeeff0A"));
    assert_false(report_id_ok("../28374-5566-7788-99aa-bbccddeeff00"));
    assert_false(report_id_ok("0192837455667788x99aaxbbccddeeff0000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_ids_of_one_moment_differ),
        cmocka_unit_test(report_ids_sort_by_time),
        cmocka_unit_test(report_id_keeps_its_time_version_and_variant),
        cmocka_unit_test(report_id_refuses_what_is_no_uuid),
    };
    return cmocka_run_group_tests_name("report/report_id", tests, NULL, NULL);
}
