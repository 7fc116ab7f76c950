// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/panics.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum { STACK = 0x7ff000010000, STACK_BYTES = 64 << 10, SP = STACK + (48 << 10) };

static char stack[STACK_BYTES];

static enum ch_status read_around_sp(char out[static ABORT_MESSAGE_MAX])
{
    const struct fake_region region = { STACK, stack, sizeof(stack) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    return panic_words_read(&reader, SP, out);
}

static void put(int from_sp, const char *text)
{
    memcpy(stack + (SP - STACK) + from_sp, text, strlen(text));
}

static int clear(void **state)
{
    (void)state;
    memset(stack, 0, sizeof(stack));
    return 0;
}

static void panic_words_are_the_last_ones_on_the_stack_on_one_line(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    put(-9000, "\nthread 'older' panicked at a.rs:1:1:\nolder\n");
    put(-500,
        "\nthread 'main' (7) panicked at b.rs:2:9:\nno such page\nnote: run with");
    assert_int_equal(read_around_sp(out), CH_OK);
    assert_string_equal(out, "thread 'main' (7) panicked at b.rs:2:9: no such page");
}

static void panic_words_without_their_beginning_are_none(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    assert_int_equal(read_around_sp(out), CH_ERR_NOT_FOUND);
    put(-500, "somebody panicked at b.rs:2:9:\n");
    assert_int_equal(read_around_sp(out), CH_ERR_NOT_FOUND);
}

static void panic_words_end_where_the_buffer_does(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    memset(stack, 'x', sizeof(stack));
    put(-500, "thread 'main' panicked at ");
    assert_int_equal(read_around_sp(out), CH_OK);
    assert_int_equal(strlen(out), 512);
    memset(stack, 0, sizeof(stack));
    memcpy(stack + sizeof(stack) - 26, "thread 'main' panicked at ", 26);
    (void)!read_around_sp(out);
    assert_true(strlen(out) <= 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(panic_words_are_the_last_ones_on_the_stack_on_one_line,
                               clear),
        cmocka_unit_test_setup(panic_words_without_their_beginning_are_none, clear),
        cmocka_unit_test_setup(panic_words_end_where_the_buffer_does, clear),
    };
    return cmocka_run_group_tests_name("agent/panic_words", tests, NULL, NULL);
}
