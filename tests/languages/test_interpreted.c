// SPDX-License-Identifier: Apache-2.0
#include "languages/interpreted.h"

#include "base/settings/settings.h"
#include "support/test.h"

// add_run adds a run of count frames of code from first on.
static void add_run(struct interpreted *table, uint64_t first, uint32_t count,
                    uint64_t stack, uint64_t thread)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct interpreted_frame frame = { .code = first + i, .offset = 4 };
        assert_int_equal(interpreted_add(table, frame), CH_OK);
    }
    assert_int_equal(interpreted_end_run(table, stack, thread), CH_OK);
}

static void a_native_frame_has_the_runs_in_its_part_of_the_stack(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    uint64_t thread = 0;
    add_run(&table, 200, 1, 0x2000, 1);
    add_run(&table, 100, 2, 0x1000, 1);
    interpreted_sort(&table);
    uint32_t inner = interpreted_find(&table, 0x0f00, 0x1100, &thread);
    uint32_t none = interpreted_find(&table, 0x1100, 0x2000, &thread);
    uint32_t outer = interpreted_find(&table, 0x2000, 0x3000, &thread);
    const struct interpreted_run *run = &table.groups[inner].run;
    uint64_t code = table.frames[run->first].code;
    uint32_t count = run->count;
    interpreted_deinit(&table);
    assert_int_equal(code, 100);
    assert_int_equal(count, 2);
    assert_int_equal(none, INTERPRETED_NONE);
    assert_int_not_equal(outer, INTERPRETED_NONE);
    assert_int_not_equal(outer, inner);
}

static void several_runs_in_one_native_frame_are_shown_in_order(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    uint64_t thread = 0;
    add_run(&table, 100, 2, 0x1000, 1);
    add_run(&table, 200, 1, 0x1800, 1);
    interpreted_sort(&table);
    uint32_t group = interpreted_find(&table, 0x0, 0x3000, &thread);
    const struct interpreted_run run = table.groups[group].run;
    uint64_t last = table.frames[run.first + 2].code;
    interpreted_deinit(&table);
    assert_int_equal(run.count, 3);
    assert_int_equal(last, 200);
}

static void the_stack_of_another_thread_may_follow_without_a_gap(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    uint64_t thread = 0;
    add_run(&table, 100, 1, 0x1000, 1);
    add_run(&table, 200, 1, 0x2000, 2);
    interpreted_sort(&table);
    uint32_t group = interpreted_find(&table, 0x0, 0x9000, &thread);
    uint32_t count = table.groups[group].run.count;
    uint32_t beyond = interpreted_find(&table, 0x1800, 0x9000, &thread);
    interpreted_deinit(&table);
    assert_int_equal(count, 1);
    assert_int_equal(thread, 1);
    assert_int_equal(beyond, INTERPRETED_NONE);
}

static void threads_with_equal_frames_share_a_group(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    uint32_t groups[3];
    add_run(&table, 100, 3, 0x1000, 1);
    add_run(&table, 100, 3, 0x2000, 2);
    add_run(&table, 100, 2, 0x3000, 3);
    interpreted_sort(&table);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t thread = 0;
        groups[i] =
            interpreted_find(&table, 0x1000 * (i + 1), 0x1000 * (i + 1) + 8, &thread);
    }
    interpreted_deinit(&table);
    assert_int_equal(groups[0], groups[1]);
    assert_int_not_equal(groups[0], groups[2]);
}

static void of_a_long_run_the_middle_is_left_out(void **state)
{
    (void)state;
    struct interpreted table = { .limit = 5, .top = 2 };
    add_run(&table, 100, 50, 0x1000, 1);
    add_run(&table, 500, 5, 0x2000, 1);
    const struct interpreted_run run = table.runs[0];
    const struct interpreted_run whole = table.runs[1];
    uint64_t codes[5];
    for (size_t i = 0; i < 5; i++)
        codes[i] = table.frames[run.first + i].code;
    uint64_t next = table.frames[whole.first].code;
    interpreted_deinit(&table);
    assert_int_equal(run.count, 5);
    assert_int_equal(run.gap, 3);
    assert_int_equal(run.omitted, 45);
    assert_int_equal(codes[2], 102);
    assert_int_equal(codes[3], 148);
    assert_int_equal(codes[4], 149);
    assert_int_equal(whole.omitted, 0);
    assert_int_equal(next, 500);
}

static void frames_without_an_end_are_forgotten(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    add_run(&table, 100, 1, 0x1000, 1);
    assert_int_equal(interpreted_add(&table, (struct interpreted_frame){ .code = 9 }),
                     CH_OK);
    interpreted_drop_run(&table);
    add_run(&table, 300, 1, 0x2000, 1);
    uint64_t code = table.frames[table.runs[1].first].code;
    interpreted_deinit(&table);
    assert_int_equal(code, 300);
}

static void calls_without_a_place_are_told_apart_by_their_order(void **state)
{
    (void)state;
    struct interpreted table = { .limit = SETTING_NO_LIMIT };
    uint64_t thread = 0;
    add_run(&table, 100, 1, 0x7000, 1);
    add_run(&table, 101, 1, 0x7000, 1);
    add_run(&table, 900, 1, 0x6000, 2);
    interpreted_sort(&table);
    uint32_t second = interpreted_find_call(&table, 0x7000, 1, &thread);
    uint64_t code = table.frames[table.groups[second].run.first].code;
    uint32_t third = interpreted_find_call(&table, 0x7000, 2, &thread);
    interpreted_deinit(&table);
    assert_int_equal(code, 101);
    assert_int_equal(third, INTERPRETED_NONE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_native_frame_has_the_runs_in_its_part_of_the_stack),
        cmocka_unit_test(several_runs_in_one_native_frame_are_shown_in_order),
        cmocka_unit_test(the_stack_of_another_thread_may_follow_without_a_gap),
        cmocka_unit_test(threads_with_equal_frames_share_a_group),
        cmocka_unit_test(of_a_long_run_the_middle_is_left_out),
        cmocka_unit_test(frames_without_an_end_are_forgotten),
        cmocka_unit_test(calls_without_a_place_are_told_apart_by_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
