// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_source.h"

#include "support/test.h"

enum { KEPT = 8 };

static int setup(void **state)
{
    static struct flight_calls calls;
    *state = &calls;
    return flight_calls_init(&calls, KEPT) == CH_OK ? 0 : -1;
}

static int teardown(void **state)
{
    flight_calls_deinit(*state);
    return 0;
}

static void add(struct flight_calls *calls, enum fdr_action action, uint32_t function)
{
    static uint64_t tsc;
    const struct fdr_record record = {
        .kind = FDR_FUNCTION, .action = action, .function = function, .tsc = ++tsc
    };
    assert_int_equal(flight_calls_add(calls, &record), CH_OK);
}

static uint64_t depth_at(const struct flight_calls *calls, size_t index)
{
    return flight_calls_depth(calls, flight_calls_event(calls, index));
}

static void flight_calls_know_what_is_open(void **state)
{
    struct flight_calls *calls = *state;
    add(calls, FDR_ENTER, 1);
    add(calls, FDR_ENTER, 2);
    add(calls, FDR_EXIT, 2);
    add(calls, FDR_ENTER, 3);
    assert_int_equal(calls->open_count, 2);
    assert_int_equal(calls->open[0].function, 1);
    assert_int_equal(calls->open[1].function, 3);
    assert_int_equal(depth_at(calls, 1), 1);
    assert_int_equal(depth_at(calls, 2), 1); // an exit is as deep as its entry
    assert_int_equal(depth_at(calls, 3), 1);
}

static void flight_calls_count_depths_from_the_shallowest_exit(void **state)
{
    struct flight_calls *calls = *state;
    add(calls, FDR_ENTER, 3);
    add(calls, FDR_EXIT, 3);
    add(calls, FDR_EXIT, 2); // whose entries the ring has forgotten
    add(calls, FDR_EXIT, 1);
    assert_int_equal(calls->open_count, 0);
    assert_int_equal(depth_at(calls, 0), 2);
    assert_int_equal(depth_at(calls, 1), 2);
    assert_int_equal(depth_at(calls, 2), 1);
    assert_int_equal(depth_at(calls, 3), 0);
}

static void flight_calls_close_what_a_jump_left(void **state)
{
    struct flight_calls *calls = *state;
    add(calls, FDR_ENTER, 1);
    add(calls, FDR_ENTER, 2);
    add(calls, FDR_ENTER, 3);
    add(calls, FDR_EXIT, 1);
    assert_int_equal(calls->open_count, 0);
    assert_int_equal(depth_at(calls, 3), 0);
}

static void flight_calls_take_a_tail_exit_for_an_exit(void **state)
{
    struct flight_calls *calls = *state;
    add(calls, FDR_ENTER, 1);
    add(calls, FDR_TAIL_EXIT, 1);
    add(calls, FDR_ENTER, 2);
    assert_int_equal(calls->open_count, 1);
    assert_int_equal(depth_at(calls, 2), 0);
}

static void flight_calls_keep_the_last_events(void **state)
{
    struct flight_calls *calls = *state;
    for (uint32_t i = 1; i <= 3 * KEPT; i++)
        add(calls, FDR_ENTER, i);
    assert_int_equal(flight_calls_listed(calls), KEPT);
    assert_int_equal(flight_calls_event(calls, 0)->function, 2 * KEPT + 1);
    assert_int_equal(flight_calls_event(calls, KEPT - 1)->function, 3 * KEPT);
    assert_int_equal(calls->open_count, 3 * KEPT);
}

static void flight_calls_give_an_argument_to_its_call(void **state)
{
    struct flight_calls *calls = *state;
    struct fdr_record argument = { .kind = FDR_CALL_ARGUMENT, .argument = 42 };
    assert_int_equal(flight_calls_add(calls, &argument), CH_OK); // of nothing
    add(calls, FDR_ENTER_ARGS, 1);
    assert_int_equal(flight_calls_add(calls, &argument), CH_OK);
    argument.argument = 43;
    assert_int_equal(flight_calls_add(calls, &argument), CH_OK); // a second one
    assert_true(calls->open[0].has_argument);
    assert_int_equal(calls->open[0].argument, 42);
    assert_int_equal(flight_calls_event(calls, 0)->argument, 42);
}

static void flight_calls_are_bounded_however_deep_they_go(void **state)
{
    struct flight_calls *calls = *state;
    for (uint32_t i = 0; i < FLIGHT_OPEN_MAX + 10; i++)
        add(calls, FDR_ENTER, 1);
    assert_int_equal(calls->open_count, FLIGHT_OPEN_MAX);
    assert_int_equal(calls->deeper, 10);
    for (uint32_t i = 0; i < FLIGHT_OPEN_MAX + 10; i++)
        add(calls, FDR_EXIT, 1);
    assert_int_equal(calls->open_count, 0);
    assert_int_equal(depth_at(calls, KEPT - 1), 0);
}

int main(void)
{
#define WITH_CALLS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_CALLS(flight_calls_know_what_is_open),
        WITH_CALLS(flight_calls_count_depths_from_the_shallowest_exit),
        WITH_CALLS(flight_calls_close_what_a_jump_left),
        WITH_CALLS(flight_calls_take_a_tail_exit_for_an_exit),
        WITH_CALLS(flight_calls_keep_the_last_events),
        WITH_CALLS(flight_calls_give_an_argument_to_its_call),
        WITH_CALLS(flight_calls_are_bounded_however_deep_they_go),
    };
    return cmocka_run_group_tests_name("agent/flight_calls", tests, NULL, NULL);
}
