// SPDX-License-Identifier: Apache-2.0
#include "collector/server/load.h"

#include <stdlib.h>

#include "collector/server/rate.h"
#include "support/test.h"

enum { SMALL = 64 << 10, LARGE = 1 << 20, NOW_MS = 1000000 };

static int setup(void **state)
{
    struct load *load = calloc(1, sizeof(*load));
    if (load == NULL)
        return -1;
    load_init(load);
    *state = load;
    return 0;
}

static int teardown(void **state)
{
    load_deinit(*state);
    free(*state);
    return 0;
}

// fill takes large bodies of a token until one is too much, and returns how many fit.
static size_t fill(struct load *load, size_t token)
{
    size_t count = 0;
    while (load_take(load, token, 0, LARGE))
        count++;
    return count;
}

static void one_token_cannot_take_all_the_room(void **state)
{
    struct load *load = *state;
    size_t first = fill(load, 1);
    assert_true(first * LARGE <= LOAD_TOKEN_BYTES);
    size_t second = fill(load, 2);
    assert_true(second > 0);
    assert_true((first + second) * LARGE <= LOAD_BYTES);
}

static void small_bodies_pass_beside_large_ones_that_wait(void **state)
{
    struct load *load = *state;
    (void)fill(load, 1);
    assert_true(load_take(load, 1, 0, SMALL));
    assert_false(load_take(load, 1, SMALL, 1));
}

static void what_is_given_back_can_be_taken_again(void **state)
{
    struct load *load = *state;
    size_t count = fill(load, 1);
    load_give_back(load, 1, count * LARGE);
    assert_int_equal(load->bytes, 0);
    assert_int_equal(fill(load, 1), count);
}

static void bodies_are_counted_in_pieces_up_to_the_bound(void **state)
{
    struct load *load = *state;
    size_t taken = 0;
    for (size_t body = 0; body < 4000; body++) {
        for (size_t had = 0; had < LARGE && load_take(load, body, had, SMALL);
             had += SMALL)
            taken += SMALL;
    }
    assert_true(taken <= LOAD_BYTES);
    assert_int_equal(load->bytes, taken);
}

static void who_is_refused_waits_the_longer_the_more_are(void **state)
{
    struct load *load = *state;
    load_stored(load, 100, NOW_MS);
    unsigned first = load_refuse(load, NOW_MS);
    assert_true(first >= 1 && first <= 2);
    for (int i = 0; i < 1000; i++)
        (void)load_refuse(load, NOW_MS);
    unsigned wait_s = load_refuse(load, NOW_MS); // 1,002 at 50 a second
    assert_true(wait_s >= 20 && wait_s <= 42);
}

static void who_is_refused_does_not_come_again_together(void **state)
{
    struct load *load = *state;
    unsigned by_wait[256] = { 0 };
    for (int i = 0; i < 1000; i++)
        (void)load_refuse(load, NOW_MS);
    for (int i = 0; i < 1000; i++)
        by_wait[load_spread(50)]++;
    for (unsigned i = 0; i < 256; i++) {
        assert_true(by_wait[i] < 100); // of 1,000 over 51 seconds
        assert_true(by_wait[i] == 0 || (i >= 50 && i <= 100));
    }
}

static void refusals_of_a_while_ago_do_not_count(void **state)
{
    struct load *load = *state;
    for (int i = 0; i < 1000; i++)
        (void)load_refuse(load, NOW_MS);
    assert_true(load_refuse(load, NOW_MS + LOAD_SECONDS * 1000) <= 2);
    // A clock that was set back, or far on, does no harm.
    assert_true(load_refuse(load, 0) >= 1);
    assert_true(load_refuse(load, INT64_MAX / 2) <= 2);
}

static void a_token_may_send_so_many_and_then_waits(void **state)
{
    (void)state;
    struct rate rate;
    assert_int_equal(rate_init("3/1m", &rate), CH_OK);
    int64_t now_ms = 1000000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(rate_take(&rate, 1, now_ms), 0);
    unsigned wait_s = rate_take(&rate, 1, now_ms);
    assert_in_range(wait_s, 20, 21);
    assert_int_equal(rate_take(&rate, 2, now_ms), 0); // another one's is full
    now_ms += wait_s * 1000;
    assert_int_equal(rate_take(&rate, 1, now_ms), 0);
    assert_int_not_equal(rate_take(&rate, 1, now_ms), 0);
    rate_deinit(&rate);
}

static void a_clock_that_goes_back_gives_nothing(void **state)
{
    (void)state;
    struct rate rate;
    assert_int_equal(rate_init("1/s", &rate), CH_OK);
    assert_int_equal(rate_take(&rate, 0, 5000000), 0);
    assert_int_not_equal(rate_take(&rate, 0, 1000), 0);
    assert_int_not_equal(rate_take(&rate, 0, 1500), 0);
    assert_int_equal(rate_take(&rate, 0, 2500), 0);
    rate_deinit(&rate);
}

static void what_is_no_rate_is_refused(void **state)
{
    (void)state;
    struct rate rate;
    static const char *const wrong[] = { "",      "0/1m",  "5",    "5/",
                                         "5/m2",  "-1/1m", "5/0m", "5/1y",
                                         "5/1mm", "x/1m",  "5/1" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(rate_init(wrong[i], &rate), CH_ERR_MALFORMED);
    assert_int_equal(rate_init(NULL, &rate), CH_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rate_take(&rate, 0, 0), 0);
    rate_deinit(&rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_token_cannot_take_all_the_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(small_bodies_pass_beside_large_ones_that_wait,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_given_back_can_be_taken_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bodies_are_counted_in_pieces_up_to_the_bound,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_refused_waits_the_longer_the_more_are,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_refused_does_not_come_again_together,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(refusals_of_a_while_ago_do_not_count, setup,
                                        teardown),
        cmocka_unit_test(a_token_may_send_so_many_and_then_waits),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing),
        cmocka_unit_test(what_is_no_rate_is_refused),
    };
    return cmocka_run_group_tests_name("collector/load", tests, NULL, NULL);
}
