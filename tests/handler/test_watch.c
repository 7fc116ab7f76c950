// SPDX-License-Identifier: Apache-2.0
//
// The table of watched objects, in this process: nothing crashes here.
#include "handler/prepare/plan.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "crashhook/crashhook.h"
#include "support/test.h"

static unsigned state_of(size_t slot)
{
    return watch_slots[slot].state & WATCH_STATE_MASK;
}

static size_t count_ready(void)
{
    size_t count = 0;
    for (size_t i = 0; i < WATCH_COUNT; i++)
        count += state_of(i) == WATCH_READY;
    return count;
}

static int forget_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < WATCH_COUNT; i++)
        watch_slots[i].state = WATCH_FREE;
    return 0;
}

static void watch_notes_where_and_how_large_an_object_is(void **state)
{
    (void)state;
    static long object;
    assert_int_equal(crashhook_watch("object", &object, "long"), 0);
    assert_int_equal(state_of(0), WATCH_READY);
    assert_int_equal(watch_slots[0].address, (uintptr_t)&object);
    assert_int_equal(watch_slots[0].size, sizeof(object));
    assert_string_equal(watch_slots[0].name, "object");
    assert_string_equal(watch_slots[0].type, "long");
}

static void watch_forgets_by_address_and_by_name(void **state)
{
    (void)state;
    static int objects[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(crashhook_watch("object", &objects[i], "int"), 0);
    assert_int_equal(crashhook_unwatch(&objects[1]), 0);
    assert_int_equal(count_ready(), 2);
    assert_int_equal(crashhook_unwatch(&objects[1]), ENOENT);
    assert_int_equal(crashhook_unwatch("other"), ENOENT);
    assert_int_equal(crashhook_unwatch("object"), 0);
    assert_int_equal(count_ready(), 0);
}

static void watch_takes_characters_for_an_object_first(void **state)
{
    (void)state;
    static char text[8] = "text";
    assert_int_equal(crashhook_watch("buffer", &text, "char [8]"), 0);
    assert_int_equal(crashhook_unwatch(text), 0);
    assert_int_equal(count_ready(), 0);
}

static void watch_refuses_what_does_not_fit(void **state)
{
    (void)state;
    static int object;
    char name[WATCH_NAME_SIZE + 1];
    memset(name, 'n', WATCH_NAME_SIZE);
    name[WATCH_NAME_SIZE] = 0;
    assert_int_equal(crashhook_watch(name, &object, "int"), EINVAL);
    name[WATCH_NAME_SIZE - 1] = 0;
    assert_int_equal(crashhook_watch(name, &object, "int"), 0);
    assert_int_equal(crashhook_watch(NULL, &object, "int"), EINVAL);
    assert_int_equal(crashhook_watch_object("x", NULL, "int", 4), EINVAL);
    assert_int_equal(crashhook_watch_object("x", &object, "int", 0), EINVAL);
}

static void watch_says_when_the_table_is_full(void **state)
{
    (void)state;
    static char objects[WATCH_COUNT + 1];
    for (size_t i = 0; i < WATCH_COUNT; i++)
        assert_int_equal(crashhook_watch("object", &objects[i], "char"), 0);
    assert_int_equal(crashhook_watch("object", &objects[WATCH_COUNT], "char"), ENOSPC);
    assert_int_equal(crashhook_unwatch((void *)&objects[5]), 0);
    assert_int_equal(crashhook_watch("object", &objects[WATCH_COUNT], "char"), 0);
}

enum { THREADS = 4, ROUNDS = 2000 };

static int shared[THREADS];

// come_and_go counts how often its own object was not there to be forgotten.
static void *come_and_go(void *own)
{
    uintptr_t failures = 0;
    for (int i = 0; i < ROUNDS; i++) {
        failures += crashhook_watch("shared", (int *)own, "int") != 0;
        failures += crashhook_unwatch((void *)own) != 0;
    }
    return (void *)failures;
}

static void watch_loses_nothing_between_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uintptr_t failures = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &shared[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *own;
        pthread_join(threads[i], &own);
        failures += (uintptr_t)own;
    }
    assert_int_equal(failures, 0);
    assert_int_equal(count_ready(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(watch_notes_where_and_how_large_an_object_is,
                                  forget_all),
        cmocka_unit_test_teardown(watch_forgets_by_address_and_by_name, forget_all),
        cmocka_unit_test_teardown(watch_takes_characters_for_an_object_first,
                                  forget_all),
        cmocka_unit_test_teardown(watch_refuses_what_does_not_fit, forget_all),
        cmocka_unit_test_teardown(watch_says_when_the_table_is_full, forget_all),
        cmocka_unit_test_teardown(watch_loses_nothing_between_threads, forget_all),
    };
    return cmocka_run_group_tests_name("handler/watch", tests, NULL, NULL);
}
