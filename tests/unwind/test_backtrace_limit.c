// SPDX-License-Identifier: Apache-2.0
#include "unwind/backtrace_limit.h"

#include <stdio.h>

#include "support/test.h"

// walk gives frames numbered from the inner end, as a stack of depth frames would.
static void walk(struct backtrace_limit *b, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        struct unwind_frame frame = { .address = i };
        if (!backtrace_limit_add(b, &frame))
            return;
    }
}

// walk_by_many gives the same frames, `many` of them at once.
static void walk_by_many(struct backtrace_limit *b, size_t depth, size_t many)
{
    struct unwind_frame frames[2000];
    assert_true(depth <= sizeof(frames) / sizeof(frames[0]));
    for (size_t i = 0; i < depth; i++)
        frames[i] = (struct unwind_frame){ .address = i };
    for (size_t i = 0; i < depth; i += many)
        if (!backtrace_limit_add_many(b, &frames[i],
                                      many < depth - i ? many : depth - i))
            return;
}

// describe writes entries as numbers, +N for N omitted frames and ... for a cut.
static void describe(const struct backtrace_limit *b, char *out, size_t size)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < backtrace_limit_count(b); i++) {
        struct backtrace_entry entry = backtrace_limit_entry(b, i);
        unsigned long number =
            entry.kind == BACKTRACE_FRAME ? entry.frame.address : entry.omitted;
        const char *mark = entry.kind == BACKTRACE_OMITTED ? "+" : "";
        int length = entry.kind == BACKTRACE_TRUNCATED
                         ? snprintf(out + at, size - at, "... ")
                         : snprintf(out + at, size - at, "%s%lu ", mark, number);
        at += (size_t)length;
    }
}

static void expect(uint32_t limit, uint32_t top, size_t depth, const char *wanted)
{
    static const size_t many[] = { 0, 1, 2, 5, 7, 256 };
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
        struct backtrace_limit b;
        char seen[256];
        backtrace_limit_init(&b, limit, top);
        if (many[i] == 0)
            walk(&b, depth);
        else
            walk_by_many(&b, depth, many[i]);
        describe(&b, seen, sizeof(seen));
        backtrace_limit_deinit(&b);
        assert_string_equal(seen, wanted);
    }
}

static void backtrace_within_its_limit_is_whole(void **state)
{
    (void)state;
    expect(5, 2, 5, "0 1 2 3 4 ");
    expect(5, 2, 0, "");
    expect(1, 16, 1, "0 ");
}

static void backtrace_past_its_limit_keeps_both_ends(void **state)
{
    (void)state;
    expect(5, 2, 6, "0 1 +2 4 5 ");
    expect(5, 2, 7, "0 1 +3 5 6 ");
    expect(5, 2, 1000, "0 1 +996 998 999 ");
}

static void backtrace_counts_the_marker_in_the_limit(void **state)
{
    (void)state;
    struct backtrace_limit b;
    backtrace_limit_init(&b, 64, 16);
    walk(&b, 65);
    size_t count = backtrace_limit_count(&b);
    struct backtrace_entry marker = backtrace_limit_entry(&b, 47);
    backtrace_limit_deinit(&b);
    assert_int_equal(count, 64);
    assert_int_equal(marker.kind, BACKTRACE_OMITTED);
    assert_int_equal(marker.omitted, 2);
}

static void backtrace_without_a_top_is_cut_and_stops_the_walk(void **state)
{
    (void)state;
    struct backtrace_limit b;
    struct unwind_frame frame = { .address = 9 };
    backtrace_limit_init(&b, 3, 0);
    walk(&b, 3);
    bool wanted = backtrace_limit_add(&b, &frame);
    struct backtrace_entry last = backtrace_limit_entry(&b, 2);
    size_t count = backtrace_limit_count(&b);
    backtrace_limit_deinit(&b);
    assert_false(wanted);
    assert_int_equal(count, 3);
    assert_int_equal(last.kind, BACKTRACE_TRUNCATED);
}

static void backtrace_top_is_clamped_to_leave_room_for_the_marker(void **state)
{
    (void)state;
    expect(3, 16, 10, "+8 8 9 ");
    expect(3, 0, 10, "0 1 ... ");
    expect(1, 16, 10, "... ");
}

static void backtrace_without_a_limit_keeps_everything(void **state)
{
    (void)state;
    struct backtrace_limit b;
    backtrace_limit_init(&b, SETTING_NO_LIMIT, 16);
    walk(&b, 100000);
    size_t count = backtrace_limit_count(&b);
    uint64_t last = backtrace_limit_entry(&b, 99999).frame.address;
    backtrace_limit_deinit(&b);
    assert_int_equal(count, 100000);
    assert_int_equal(last, 99999);
}

static void backtrace_limits_that_are_set_anew_start_over(void **state)
{
    (void)state;
    struct backtrace_limit b;
    char seen[64];
    backtrace_limit_init(&b, SETTING_NO_LIMIT, 1);
    walk(&b, 100);
    backtrace_limit_set(&b, 4, 9);
    walk(&b, 10);
    describe(&b, seen, sizeof(seen));
    backtrace_limit_deinit(&b);
    assert_string_equal(seen, "+7 7 8 9 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backtrace_within_its_limit_is_whole),
        cmocka_unit_test(backtrace_past_its_limit_keeps_both_ends),
        cmocka_unit_test(backtrace_counts_the_marker_in_the_limit),
        cmocka_unit_test(backtrace_without_a_top_is_cut_and_stops_the_walk),
        cmocka_unit_test(backtrace_top_is_clamped_to_leave_room_for_the_marker),
        cmocka_unit_test(backtrace_without_a_limit_keeps_everything),
        cmocka_unit_test(backtrace_limits_that_are_set_anew_start_over),
    };
    return cmocka_run_group_tests_name("unwind/backtrace_limit", tests, NULL, NULL);
}
