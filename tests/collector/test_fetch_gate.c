// SPDX-License-Identifier: Apache-2.0
#include "collector/objects/object_store.h"
#include "support/test.h"

enum { LONG_MS = 100000 };

static void *enter_and_leave(void *context)
{
    struct fetch_gate *gate = context;
    bool entered = fetch_gate_enter(gate);
    if (entered)
        fetch_gate_leave(gate);
    return entered ? gate : NULL;
}

static void as_many_enter_as_the_gate_is_wide(void **state)
{
    struct fetch_gate gate;
    unsigned entered = 0;
    (void)state;
    fetch_gate_init(&gate, 0);
    for (unsigned i = 0; i < 2 * FETCH_GATE_WIDTH; i++)
        entered += fetch_gate_enter(&gate);
    fetch_gate_leave(&gate);
    bool again = fetch_gate_enter(&gate);
    bool more = fetch_gate_enter(&gate);
    fetch_gate_deinit(&gate);
    assert_int_equal(entered, FETCH_GATE_WIDTH);
    assert_true(again);
    assert_false(more);
}

static void who_comes_while_fetches_are_quick_waits_for_a_place(void **state)
{
    struct fetch_gate gate;
    pthread_t waiting[4];
    void *entered = NULL;
    unsigned count = 0;
    (void)state;
    fetch_gate_init(&gate, LONG_MS);
    bool inside = fetch_gate_enter(&gate);
    inside = fetch_gate_enter(&gate) && inside;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&waiting[i], NULL, enter_and_leave, &gate), 0);
    fetch_gate_leave(&gate);
    for (unsigned i = 0; i < 4; i++) {
        (void)pthread_join(waiting[i], &entered);
        count += entered != NULL;
    }
    fetch_gate_leave(&gate);
    unsigned left = gate.inside;
    fetch_gate_deinit(&gate);
    assert_true(inside);
    assert_int_equal(count, 4);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_enter_as_the_gate_is_wide),
        cmocka_unit_test(who_comes_while_fetches_are_quick_waits_for_a_place),
    };
    return cmocka_run_group_tests_name("collector/fetch_gate", tests, NULL, NULL);
}
