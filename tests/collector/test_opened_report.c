// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/opened_report.h"

#include <stdlib.h>

#include "collector/entry/entry_marks.h"
#include "collector/entry/store_facet.h"
#include "collector/requests/collector.h"
#include "support/test.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
    unsigned refused = opened_report_open(&report, &body, &lock, &error);
    free(bytes);
    assert_int_equal(refused, 413);
}

static void opened_report_leaves_large_ones_to_who_opens_one_at_a_time(void **state)
{
    (void)state;
    size_t size = COLLECTOR_LARGE + 1;
    char *bytes = calloc(1, size);
    if (bytes == NULL)
        abort();
    struct store_body body = { .bytes = bytes, .size = size };
    struct opened_report report;
    struct opened_report_error error;
    unsigned refused = opened_report_open(&report, &body, NULL, &error);
    unsigned brief = opened_report_open_brief(&report, &body, NULL, &error);
    unsigned opened = opened_report_open(&report, &body, &lock, &error);
    int free_again = pthread_mutex_trylock(&lock);
    if (free_again == 0)
        pthread_mutex_unlock(&lock);
    free(bytes);
    assert_int_equal(refused, OPENED_REPORT_LARGE);
    assert_int_equal(brief, OPENED_REPORT_LARGE);
    assert_int_equal(opened, 400);
    assert_int_equal(free_again, 0);
}

static void opened_report_says_what_is_wrong(void **state)
{
    (void)state;
    struct store_body body = { .bytes = "{\"schema\":", .size = 10 };
    struct opened_report report;
    struct opened_report_error error = { { 0 } };
    assert_int_equal(opened_report_open(&report, &body, &lock, &error), 400);
    assert_true(strncmp(error.text, "not a report: ", 14) == 0);
}

// TABLES is a report of version 2 whose threads have the arguments k and n; k is NULL
// in the thread that crashed, n in the other one.
static const char TABLES[] =
    "{\"schema\":\"crashhook.report/2\",\"revision\":1,"
    "\"id\":\"01928374-5566-7788-99aa-bbccddeeff00\","
    "\"time\":\"2024-10-12T22:13:50.758Z\",\"crash\":{\"signal\":11,"
    "\"name\":\"SIGSEGV\",\"thread\":7},\"images\":[],\"threads\":["
    "{\"tid\":7,\"crashed\":true,\"stack\":0,\"values\":[[0,[0,\"NULL\"],[1,5]]]},"
    "{\"tid\":8,\"stack\":0,\"values\":[[0,[0,\"0x1\"],[1,0]]]}],"
    "\"stacks\":[{\"frames\":[0]}],\"places\":[{\"kind\":\"pc\","
    "\"address\":\"0x1f\",\"function\":\"find\",\"variables\":["
    "{\"index\":0,\"name\":\"k\",\"varies\":[\"value\"]},"
    "{\"index\":1,\"name\":\"n\",\"varies\":[\"value\"]}]}]}";

// nothings counts the arguments that the entry of a report of version 2 is found by;
// out is the last.
static size_t nothings(char out[64])
{
    static struct entry entry;
    struct store_body body = { .bytes = TABLES, .size = strlen(TABLES) };
    struct opened_report report;
    struct opened_report_error error;
    size_t count = 0;
    if (opened_report_open_brief(&report, &body, &lock, &error) != 0)
        return 0;
    entry_marks_from_report(report.json, &entry);
    opened_report_close(&report);
    for (const char *mark = entry_next_mark(&entry, NULL); mark != NULL;
         mark = entry_next_mark(&entry, mark)) {
        if (entry_mark_kind(mark) != FACET_ARGUMENT)
            continue;
        entry_copy(out, 64, mark + ENTRY_MARK_VALUE);
        count++;
    }
    return count;
}

static void arguments_of_the_crash_are_found_in_reports_of_version_2(void **state)
{
    (void)state;
    char argument[64] = "";
    assert_int_equal(nothings(argument), 1);
    assert_string_equal(argument, "k = 0 in find");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_report_weighs_values_and_not_strings),
        cmocka_unit_test(opened_report_refuses_what_would_fill_the_memory),
        cmocka_unit_test(opened_report_leaves_large_ones_to_who_opens_one_at_a_time),
        cmocka_unit_test(opened_report_says_what_is_wrong),
        cmocka_unit_test(arguments_of_the_crash_are_found_in_reports_of_version_2),
    };
    json_arena_install();
    return cmocka_run_group_tests_name("collector/opened_report", tests, NULL, NULL);
}
