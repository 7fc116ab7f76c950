// SPDX-License-Identifier: Apache-2.0
#include "collector/server/load.h"

#include <stdlib.h>

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
    };
    return cmocka_run_group_tests_name("collector/load", tests, NULL, NULL);
}
