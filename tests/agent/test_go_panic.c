// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/panics.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

// A thread of a Go program whose goroutine panics with a text.
enum {
    BASE = 0x10000,
    AT_STORAGE = 0x40, // the word before the thread pointer has the goroutine
    AT_GOROUTINE = 0x100,
    AT_SCHEDULER = 0x200,
    AT_MACHINE = 0x300,
    AT_PANIC = 0x500,
    AT_TYPE = 0x540,
    AT_STRING = 0x580,
    AT_TEXT = 0x5a0,
    TARGET_BYTES = 0x600,
};

static uint8_t target[TARGET_BYTES];
static const struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };

static void put(size_t at, uint64_t value)
{
    memcpy(target + at, &value, sizeof(value));
}

static int build(void **state)
{
    (void)state;
    static const char text[] = "no such\npage, and what follows";
    memset(target, 0, sizeof(target));
    put(AT_STORAGE, BASE + AT_SCHEDULER); // a signal's handler runs on another one
    put(AT_SCHEDULER + 48, BASE + AT_MACHINE);
    put(AT_MACHINE, BASE + AT_SCHEDULER);
    put(AT_MACHINE + 192, BASE + AT_GOROUTINE);
    put(AT_GOROUTINE + 48, BASE + AT_MACHINE);
    put(AT_GOROUTINE + 32, BASE + AT_PANIC);
    put(AT_PANIC + 8, BASE + AT_TYPE);
    put(AT_PANIC + 16, BASE + AT_STRING);
    put(AT_TYPE, 16);
    target[AT_TYPE + 23] = 24;
    put(AT_STRING, BASE + AT_TEXT);
    put(AT_STRING + 8, 12);
    memcpy(target + AT_TEXT, text, sizeof(text));
    return 0;
}

static enum ch_status read_panic(char out[static ABORT_MESSAGE_MAX])
{
    const struct memory_reader reader = fake_memory_reader(&memory);
    return go_panic_read(&reader, BASE + AT_STORAGE + 8, out);
}

static void panic_of_the_goroutine_that_a_thread_runs_is_quoted(void **state)
{
    char text[ABORT_MESSAGE_MAX] = "";
    build(state);
    assert_int_equal(read_panic(text), CH_OK);
    assert_string_equal(text, "panic: no such page");
    target[AT_TYPE + 23] = 2;
    put(AT_TYPE, 8);
    put(AT_STRING, (uint64_t)-7);
    assert_int_equal(read_panic(text), CH_OK);
    assert_string_equal(text, "panic: -7");
}

static void thread_that_runs_no_goroutine_has_no_panic(void **state)
{
    static const size_t links[] = { AT_STORAGE, AT_MACHINE, AT_GOROUTINE + 48,
                                    AT_GOROUTINE + 32, AT_TYPE };
    char text[ABORT_MESSAGE_MAX] = "";
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        build(state);
        put(links[i], 0);
        assert_int_not_equal(read_panic(text), CH_OK);
        assert_string_equal(text, "");
    }
}

static void panic_in_damaged_memory_is_bounded(void **state)
{
    static const uint64_t damage[] = { 1, UINT64_MAX, BASE, BASE + TARGET_BYTES - 1,
                                       UINT64_C(0x8000000000000000) };
    for (size_t at = 0; at + 8 <= TARGET_BYTES; at += 4) {
        for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
            char text[ABORT_MESSAGE_MAX] = "";
            build(state);
            put(at, damage[i]);
            memory.read_count = 0;
            (void)!read_panic(text);
            assert_true(memory.read_count < 200);
            assert_true(strlen(text) < ABORT_MESSAGE_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panic_of_the_goroutine_that_a_thread_runs_is_quoted),
        cmocka_unit_test(thread_that_runs_no_goroutine_has_no_panic),
        cmocka_unit_test(panic_in_damaged_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
