// SPDX-License-Identifier: Apache-2.0
#include "languages/go_runtime.h"

#include "support/fake_memory.h"
#include "support/test.h"

// A thread whose goroutine has called C, on the scheduler's stack.
enum {
    BASE = 0x10000,
    AT_STORAGE = 0x40,
    AT_GOROUTINE = 0x100,
    AT_SCHEDULER = 0x300,
    AT_MACHINE = 0x500,
    AT_STACK = 0x700, // of the goroutine, up to AT_STACK_END
    AT_STACK_END = 0x900,
    AT_SYSTEM = 0xa00, // where the scheduler's stack stood
    AT_CODE = 0xb00,
    TARGET_BYTES = 0xc00,
};

static uint8_t target[TARGET_BYTES];
static const struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static struct memory_reader reader;

static void put(size_t at, uint64_t value)
{
    memcpy(target + at, &value, sizeof(value));
}

static int build(void **state)
{
    (void)state;
    reader = fake_memory_reader(&memory);
    memset(target, 0, sizeof(target));
    put(AT_STORAGE, BASE + AT_SCHEDULER);
    put(AT_SCHEDULER + 48, BASE + AT_MACHINE);
    put(AT_SCHEDULER + 56, BASE + AT_SYSTEM);
    put(AT_MACHINE, BASE + AT_SCHEDULER);
    put(AT_MACHINE + 192, BASE + AT_GOROUTINE);
    put(AT_GOROUTINE, BASE + AT_STACK);
    put(AT_GOROUTINE + 8, BASE + AT_STACK_END);
    put(AT_GOROUTINE + 48, BASE + AT_MACHINE);
    put(AT_GOROUTINE + 56, BASE + AT_STACK + 0x80);
    put(AT_GOROUTINE + 64, BASE + AT_CODE);
    put(AT_GOROUTINE + 72, BASE + AT_GOROUTINE);
    put(AT_GOROUTINE + 104, BASE + AT_STACK + 0xa0);
    put(AT_SYSTEM - 64 + 48, BASE + AT_GOROUTINE); // in the frame that called C
    return 0;
}

static void a_goroutine_is_found_where_it_left_its_stack(void **state)
{
    (void)state;
    struct go_switch change;
    assert_true(go_switch_find(&reader, BASE + AT_STORAGE + 8, &change));
    assert_int_equal(change.goroutine, BASE + AT_GOROUTINE);
    assert_int_equal(change.pc, BASE + AT_CODE);
    assert_int_equal(change.sp, BASE + AT_STACK + 0x80);
    assert_int_equal(change.fp, BASE + AT_STACK + 0xa0);
    assert_false(change.placeholder);
    target[AT_CODE] = 0xc3;
    target[AT_CODE + 1] = 0xcc;
    assert_true(go_switch_find(&reader, BASE + AT_STORAGE + 8, &change));
    assert_true(change.placeholder);
}

static void the_frame_that_left_it_is_known_by_its_stack(void **state)
{
    (void)state;
    struct go_switch change;
    assert_true(go_switch_find(&reader, BASE + AT_STORAGE + 8, &change));
    assert_true(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM));
    assert_true(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM - 8));
    assert_true(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM - 64));
    assert_false(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM - 72));
    assert_false(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM - 200));
    assert_false(go_switch_is_at(&reader, &change, BASE + AT_SYSTEM + 8));
}

static void what_does_not_fit_together_is_no_goroutine(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
    } damages[] = {
        { AT_STORAGE, 0 },
        { AT_SCHEDULER + 48, BASE },
        { AT_MACHINE, BASE },
        { AT_GOROUTINE + 48, 1 },
        { AT_GOROUTINE + 72, 0 },
        { AT_GOROUTINE + 56, BASE },
        { AT_GOROUTINE + 104, UINT64_MAX },
        { AT_GOROUTINE + 8, 0 },
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct go_switch change;
        build(state);
        put(damages[i].at, damages[i].value);
        assert_false(go_switch_find(&reader, BASE + AT_STORAGE + 8, &change));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_goroutine_is_found_where_it_left_its_stack, build),
        cmocka_unit_test_setup(the_frame_that_left_it_is_known_by_its_stack, build),
        cmocka_unit_test_setup(what_does_not_fit_together_is_no_goroutine, build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
