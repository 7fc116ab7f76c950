// SPDX-License-Identifier: Apache-2.0
#include "report/summary/wait_cycle.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/summary/report_waits.h"
#include "support/test.h"

static size_t cycle_of(const struct wait_edge *waits, size_t count)
{
    size_t listed[8];
    return wait_cycle(waits, count, listed, 8);
}

static void circle_of_waits_is_found_wherever_it_begins(void **state)
{
    (void)state;
    static const struct wait_edge waits[] = { { 1, 2, false },
                                              { 2, 3, false },
                                              { 3, 4, false },
                                              { 4, 2, false },
                                              { 5, 5, false } };
    size_t listed[8];
    assert_int_equal(wait_cycle(waits, 4, listed, 8), 3);
    assert_int_equal(listed[0], 1);
    assert_int_equal(listed[1], 2);
    assert_int_equal(listed[2], 3);
    assert_int_equal(cycle_of(waits + 4, 1), 1);
    assert_int_equal(cycle_of(waits, 3), 0);
    assert_int_equal(cycle_of(waits, 0), 0);
}

static void wait_that_ends_by_itself_breaks_a_circle(void **state)
{
    (void)state;
    static const struct wait_edge waits[] = { { 1, 2, false }, { 2, 1, true } };
    static const struct wait_edge nobody[] = { { 1, 0, false }, { 0, 1, false } };
    assert_int_equal(cycle_of(waits, 2), 0);
    assert_int_equal(cycle_of(nobody, 2), 0);
}

static void random_trees_of_waits_have_no_circle(void **state)
{
    (void)state;
    enum { TREES = 1000, THREADS = 40 };
    srand(17);
    for (int i = 0; i < TREES; i++) {
        struct wait_edge waits[THREADS];
        for (int k = 0; k < THREADS; k++)
            waits[k] = (struct wait_edge){ .tid = k + 1,
                                           .owner = k != 0 ? rand() % k + 1 : 0 };
        assert_int_equal(cycle_of(waits, THREADS), 0);
    }
}

// Reports, and what is said of their threads.
static const struct {
    const char *json;
    const char *words; // NULL: no deadlock
} reports[] = {
    { "{\"threads\":[{\"tid\":4,\"name\":\"writer\"}],\"waits\":["
      "{\"tid\":4,\"object\":\"mutex\",\"address\":\"0x10\",\"name\":\"q\",\"owner\":7}"
      ","
      "{\"tid\":7,\"object\":\"mutex\",\"address\":\"0x20\",\"name\":\"m\",\"owner\":4}"
      "]}",
      "Deadlock: thread 4 'writer' holds m and waits for q, which thread 7 holds" },
    { "{\"threads\":[],\"crash\":{\"waits\":["
      "{\"tid\":4,\"object\":\"mutex\",\"address\":\"0x10\",\"owner\":5},"
      "{\"tid\":5,\"object\":\"rwlock\",\"address\":\"0x20\",\"owner\":6},"
      "{\"tid\":6,\"object\":\"mutex\",\"address\":\"0x30\",\"owner\":4}]}}",
      "Deadlock: thread 4 holds the mutex at 0x30 and waits for the mutex at 0x10, "
      "which "
      "thread 5 holds; thread 5 waits for the read-write lock at 0x20, which thread 6 "
      "holds" },
    { "{\"threads\":[],\"waits\":["
      "{\"tid\":4,\"object\":\"mutex\",\"address\":\"0x10\",\"owner\":4}]}",
      "Deadlock: thread 4 waits for the mutex at 0x10, which it holds itself" },
    { "{\"threads\":[],\"waits\":["
      "{\"tid\":4,\"object\":\"mutex\",\"address\":\"0x10\",\"owner\":5},"
      "{\"tid\":5,\"object\":\"thread\",\"address\":\"0x20\",\"owner\":4}]}",
      "Deadlock: thread 4 waits for the mutex at 0x10, which thread 5 holds; thread 5 "
      "waits for the end of thread 4" },
    { "{\"threads\":[],\"waits\":["
      "{\"tid\":4,\"object\":\"mutex\",\"address\":\"0x10\",\"owner\":5,\"timeout\":"
      "true},"
      "{\"tid\":5,\"object\":\"mutex\",\"address\":\"0x20\",\"owner\":4}]}",
      NULL },
    { "{\"threads\":[],\"waits\":[{\"tid\":\"x\"},7]}", NULL },
    { "{\"threads\":[]}", NULL },
};

static void deadlock_is_told_by_threads_and_locks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        struct text CH_CLEANUP(text_deinit) words = { 0 };
        char copy[512] = "";
        json_t *report = json_loads(reports[i].json, 0, NULL);
        bool found = report_deadlock(report, &words);
        (void)snprintf(copy, sizeof(copy), "%s", words.size != 0 ? words.bytes : "");
        json_decref(report);
        assert_int_equal(found, reports[i].words != NULL);
        assert_string_equal(copy, reports[i].words != NULL ? reports[i].words : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circle_of_waits_is_found_wherever_it_begins),
        cmocka_unit_test(wait_that_ends_by_itself_breaks_a_circle),
        cmocka_unit_test(random_trees_of_waits_have_no_circle),
        cmocka_unit_test(deadlock_is_told_by_threads_and_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
