// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"
#include "upload/queue.h"

#include <time.h>

#include "support/test.h"

// waited is how long a report waits after that many attempts, where the target is down
// or the report alone is in trouble.
static int64_t waited(uint32_t attempts, bool target_down, int64_t wanted_s)
{
    struct target target = { .failures = 0 };
    struct spool_target waiting = { .attempts = attempts };
    const struct verdict verdict = { .target_down = target_down, .wait_s = wanted_s };
    retry_postpone(&target, &waiting, &verdict);
    assert_int_equal(target.rest.until, target_down ? waiting.wait.until : 0);
    return waiting.wait.until - waiting.wait.noted;
}

static void retry_doubles_the_wait_up_to_an_hour_and_spreads_it(void **state)
{
    (void)state;
    for (uint32_t attempts = 1; attempts < 40; attempts++) {
        int64_t middle = attempts < 13 ? 1 << (attempts - 1) : 3600;
        int64_t wait = waited(attempts, attempts % 2 != 0, -1);
        middle = middle < 3600 ? middle : 3600;
        assert_in_range(wait, middle - middle / 4, middle + middle / 4 + 2);
    }
}

static void retry_waits_as_long_as_the_target_asks_for(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_in_range(waited(1, true, 700), 701, 1051);
    assert_int_equal(waited(20, false, 0), 2);
}

static void retry_waits_from_a_second_to_a_day_whatever_is_asked_for(void **state)
{
    static const int64_t asked[] = { -1,       0,     1,      2,       59,
                                     3599,     57600, 86398,  86399,   86400,
                                     86401,    90000, 172800, 1 << 30, INT64_MAX / 2,
                                     INT64_MAX };
    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        for (int again = 0; again < 200; again++) {
            int64_t wait = backoff_wait_s(asked[i], 1);
            assert_in_range(wait, 1, SPOOL_WAIT_MAX_S - 2);
            if (asked[i] < SPOOL_WAIT_MAX_S - 2)
                assert_true(wait >= asked[i]);
            // With the second and the fraction of one that are added.
            assert_in_range(waited(3, true, asked[i]), 2, SPOOL_WAIT_MAX_S - 1);
        }
    }
}

// A clock that is set ends a wait at once or leaves it, and then a new one is noted: it
// costs one request, and no wait is longer than a day by either clock.
static void retry_sends_once_for_each_time_that_the_clock_is_set(void **state)
{
    static const int64_t jumps[] = {
        -100LL * 366 * 86400, -86400, -3600, -61, -59, 59, 61, 3600, 86400,
        100LL * 366 * 86400
    };
    (void)state;
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        struct target target = { .failures = 0 };
        struct spool_target waiting = { .attempts = 1 };
        const struct verdict verdict = { .target_down = true, .wait_s = INT64_MAX };
        retry_postpone(&target, &waiting, &verdict);
        assert_false(retry_is_due(&target, &waiting, false));
        // The wait as it looks after the clock was set by that much.
        struct spool_wait *waits[] = { &target.rest, &waiting.wait };
        for (size_t k = 0; k < 2; k++) {
            waits[k]->noted -= jumps[i];
            waits[k]->until -= jumps[i];
        }
        int requests = 0;
        for (; requests < 100 && retry_is_due(&target, &waiting, false); requests++)
            retry_postpone(&target, &waiting, &verdict);
        assert_in_range(requests, 0, 1);
        int64_t now = time(NULL);
        assert_in_range(retry_due_time(&target, &waiting, now) - now, 1,
                        SPOOL_WAIT_MAX_S + 60);
    }
}

static void retry_spreads_what_a_target_asks_of_many(void **state)
{
    unsigned by_wait[128] = { 0 };
    (void)state;
    for (int i = 0; i < 1000; i++)
        by_wait[waited(1, true, 60)]++;
    for (size_t i = 0; i < 128; i++)
        assert_true(by_wait[i] < 150); // of 1,000 over 31 seconds
}

static void retry_counts_failures_of_the_target_and_of_the_report(void **state)
{
    (void)state;
    struct target target = { .failures = 9 };
    struct spool_target waiting = { .attempts = 1 };
    const struct verdict verdict = { .target_down = true, .wait_s = -1 };
    retry_postpone(&target, &waiting, &verdict);
    assert_int_equal(target.failures, 10);
    assert_in_range(waiting.wait.until - waiting.wait.noted, 384, 642);
}

static void retry_is_due_once_neither_target_nor_report_waits(void **state)
{
    (void)state;
    int64_t now = time(NULL);
    const struct spool_wait later = { .noted = now, .until = now + 500 };
    struct target target = { .failures = 0 };
    struct spool_target waiting = { .wait = later };
    assert_false(retry_is_due(&target, &waiting, false));
    assert_true(retry_is_due(&target, &waiting, true));
    assert_int_equal(retry_due_time(&target, &waiting, now), now + 500);
    target.rest = later;
    assert_false(retry_is_due(&target, &waiting, true));
    target.rest.until = now + 900;
    assert_int_equal(retry_due_time(&target, &waiting, now), now + 900);
    waiting.state = TARGET_FAILED;
    target.rest = (struct spool_wait){ 0 };
    assert_false(retry_is_due(&target, &waiting, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_doubles_the_wait_up_to_an_hour_and_spreads_it),
        cmocka_unit_test(retry_waits_as_long_as_the_target_asks_for),
        cmocka_unit_test(retry_waits_from_a_second_to_a_day_whatever_is_asked_for),
        cmocka_unit_test(retry_sends_once_for_each_time_that_the_clock_is_set),
        cmocka_unit_test(retry_spreads_what_a_target_asks_of_many),
        cmocka_unit_test(retry_counts_failures_of_the_target_and_of_the_report),
        cmocka_unit_test(retry_is_due_once_neither_target_nor_report_waits),
    };
    return cmocka_run_group_tests_name("upload/queue", tests, NULL, NULL);
}
