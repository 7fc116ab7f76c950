// SPDX-License-Identifier: Apache-2.0
#include "languages/goroutines.h"

#include "support/fake_memory.h"
#include "support/test.h"

// A list of goroutines, of which the first waits.
enum {
    BASE = 0x10000,
    AT_LIST = 0x40,
    AT_REASONS = 0x100,
    AT_WORD = 0x180,
    AT_GOROUTINE = 0x200,
    AT_STACK = 0x400,
    TARGET_BYTES = 0x500,
};

static uint8_t target[TARGET_BYTES];
static struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static struct memory_reader reader;
static struct goroutines list;

static void put(size_t at, uint64_t value)
{
    memcpy(target + at, &value, sizeof(value));
}

static int build(void **state)
{
    (void)state;
    reader = fake_memory_reader(&memory);
    region.size = sizeof(target);
    memset(target, 0, sizeof(target));
    put(AT_LIST + 8, BASE + AT_GOROUTINE);
    put(AT_REASONS + 16, BASE + AT_WORD);
    put(AT_REASONS + 24, 7);
    memcpy(target + AT_WORD, "IO wait", 7);
    put(AT_GOROUTINE, BASE + AT_STACK);
    put(AT_GOROUTINE + 8, BASE + AT_STACK + 0x80);
    put(AT_GOROUTINE + 56, BASE + AT_STACK + 0x10);
    put(AT_GOROUTINE + 64, 0x4444);
    put(AT_GOROUTINE + 104, BASE + AT_STACK + 0x20);
    put(AT_GOROUTINE + 144, 0x1004); // waits, and is being scanned
    put(AT_GOROUTINE + 152, 7);
    put(AT_GOROUTINE + 176, 1);
    put(AT_GOROUTINE + 296, 0x5555);
    bool whole;
    struct go_layout layout;
    assert_true(go_layout_of_version("go1.19.8", &layout, &whole));
    assert_true(whole);
    list = (struct goroutines){ .reader = &reader,
                                .layout = layout,
                                .list = BASE + AT_LIST,
                                .count = 2,
                                .reasons = BASE + AT_REASONS };
    return 0;
}

static void a_goroutine_that_waits_says_why_and_where(void **state)
{
    (void)state;
    struct goroutine one;
    assert_true(goroutines_next(&list, &one));
    assert_int_equal(one.id, 7);
    assert_string_equal(one.state, "waiting");
    assert_string_equal(one.reason, "IO wait");
    assert_int_equal(one.pc, 0x4444);
    assert_int_equal(one.creator, 0x5555);
    assert_int_equal(one.parent, 0);
    assert_int_equal(one.sp, BASE + AT_STACK + 0x10);
    assert_true(one.called);
    assert_false(one.runs);
    assert_false(goroutines_next(&list, &one));
}

static void what_has_ended_or_contradicts_itself_is_passed_over(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
    } damages[] = {
        { AT_GOROUTINE + 144, 6 },
        { AT_GOROUTINE + 144, 0 },
        { AT_GOROUTINE + 152, 0 },
        { AT_GOROUTINE + 56, BASE },
        { AT_LIST + 8, BASE + TARGET_BYTES },
        { AT_LIST + 8, 0 },
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct goroutine one;
        build(state);
        put(damages[i].at, damages[i].value);
        assert_false(goroutines_next(&list, &one));
    }
}

static void a_list_without_an_end_ends(void **state)
{
    (void)state;
    struct goroutine one;
    list.count = UINT64_MAX;
    assert_true(goroutines_next(&list, &one));
    assert_false(goroutines_next(&list, &one));
}

static void a_reason_that_cannot_be_is_left_out(void **state)
{
    struct goroutine one;
    put(AT_REASONS + 24, 5000);
    assert_true(goroutines_next(&list, &one));
    assert_string_equal(one.reason, "");
    build(state);
    target[AT_GOROUTINE + 176] = 200;
    assert_true(goroutines_next(&list, &one));
    assert_string_equal(one.reason, "");
}

static void memory_that_is_cut_has_no_other_goroutines(void **state)
{
    for (size_t size = 0; size < TARGET_BYTES; size += 8) {
        struct goroutine one;
        build(state);
        region.size = size;
        if (goroutines_next(&list, &one))
            assert_int_equal(one.id, 7);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_goroutine_that_waits_says_why_and_where, build),
        cmocka_unit_test_setup(what_has_ended_or_contradicts_itself_is_passed_over,
                               build),
        cmocka_unit_test_setup(a_list_without_an_end_ends, build),
        cmocka_unit_test_setup(a_reason_that_cannot_be_is_left_out, build),
        cmocka_unit_test_setup(memory_that_is_cut_has_no_other_goroutines, build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
