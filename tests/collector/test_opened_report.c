// SPDX-License-Identifier: Apache-2.0
#include "collector/server/opened_report.h"

#include <stdlib.h>

#include "support/test.h"

static size_t weigh(const char *json)
{
    return opened_report_weigh(json, strlen(json));
}

static void opened_report_weighs_values_and_not_strings(void **state)
{
    (void)state;
    assert_int_equal(weigh("[1,2,3]"), 1 + 1 + 2);
    assert_int_equal(weigh("{\"a\":[]}"), 1 + 3 + 1);
    assert_int_equal(weigh("\"{{{[[[,,,\\\"{{{\""), 1);
    assert_int_equal(weigh("\"no end {{{"), 1);
    assert_int_equal(weigh("\"ends in a \\"), 1);
}

static void opened_report_refuses_what_would_fill_the_memory(void **state)
{
    (void)state;
    enum { COUNT = OPENED_REPORT_VALUES / 3 + 10 };
    char *bytes = malloc(COUNT * 3);
    if (bytes == NULL)
        abort();
    for (size_t i = 0; i < COUNT; i++)
        memcpy(bytes + i * 3, "{},", 3);
    bytes[0] = '[';
    struct store_body body = { .bytes = bytes, .size = COUNT * 3 };
    struct opened_report report;
    struct opened_report_error error;
    pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER;
    unsigned refused = opened_report_open(&report, &body, &large, &error);
    int free_again = pthread_mutex_trylock(&large);
    free(bytes);
    assert_int_equal(refused, 413);
    assert_int_equal(free_again, 0);
}

static void opened_report_says_what_is_wrong(void **state)
{
    (void)state;
    struct store_body body = { .bytes = "{\"schema\":", .size = 10 };
    struct opened_report report;
    struct opened_report_error error = { { 0 } };
    pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER;
    assert_int_equal(opened_report_open(&report, &body, &large, &error), 400);
    assert_true(strncmp(error.text, "not a report: ", 14) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_report_weighs_values_and_not_strings),
        cmocka_unit_test(opened_report_refuses_what_would_fill_the_memory),
        cmocka_unit_test(opened_report_says_what_is_wrong),
    };
    return cmocka_run_group_tests_name("collector/opened_report", tests, NULL, NULL);
}
