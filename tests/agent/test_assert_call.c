// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/abort_message.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

// A target whose caller asserted something: its stack, its code, its words.
enum {
    BASE = 0x10000,
    AT_CODE = 0x000,
    AT_CALL = 0x080,
    AT_FUNCTION = 0x100,
    AT_WORDS = 0x200,
    AT_STACK = 0x400,
    TARGET_BYTES = 0x400 + 1024 * 8,
    CODE_BYTES = 0x200,
};

static uint8_t target[TARGET_BYTES];
static const struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    return address >= BASE && address < BASE + CODE_BYTES;
}

// put_load writes an instruction that begins with opcode and leads from its end to to.
static void put_load(size_t at, const char *opcode, size_t to)
{
    size_t end = at + strlen(opcode) + 4;
    int32_t distance = (int32_t)to - (int32_t)end;
    memcpy(target + at, opcode, strlen(opcode));
    memcpy(target + end - 4, &distance, sizeof(distance));
}

static int build(void **state)
{
    (void)state;
    static const char words[] = "count == 1\0a.c\0f";
    const uint64_t returns_to = BASE + AT_CALL + 5;
    memset(target, 0, sizeof(target));
    memcpy(target + AT_WORDS, words, sizeof(words));
    put_load(AT_CALL - 26, "\x48\x8d\x0d", AT_WORDS + 15);
    memcpy(target + AT_CALL - 19, "\xba\x07\0\0\0", 5);
    put_load(AT_CALL - 14, "\x48\x8d\x35", AT_WORDS + 11);
    put_load(AT_CALL - 7, "\x48\x8d\x3d", AT_WORDS);
    put_load(AT_CALL, "\xe8", AT_FUNCTION);
    memcpy(target + AT_STACK + 200, &returns_to, sizeof(returns_to));
    return 0;
}

static enum ch_status read_target(char out[static ABORT_MESSAGE_MAX])
{
    struct memory_reader reader = fake_memory_reader(&memory);
    const struct assert_place place = { .function = BASE + AT_FUNCTION,
                                        .sp = BASE + AT_STACK,
                                        .is_code = is_code };
    return assert_call_read(&reader, &place, out);
}

static void assert_call_is_worded_as_the_library_does(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    assert_int_equal(read_target(out), CH_OK);
    assert_string_equal(out, "Assertion failed: count == 1 (a.c: f: 7)");
}

static void assert_call_of_another_function_is_none(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    put_load(AT_CALL, "\xe8", AT_FUNCTION + 8);
    assert_int_equal(read_target(out), CH_ERR_NOT_FOUND);
}

static void assert_call_through_the_linkage_table_is_one(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    const uint64_t function = BASE + AT_FUNCTION;
    put_load(AT_CALL, "\xe8", AT_FUNCTION + 0x20);
    put_load(AT_FUNCTION + 0x20, "\xff\x25", AT_FUNCTION + 0x40);
    memcpy(target + AT_FUNCTION + 0x40, &function, sizeof(function));
    assert_int_equal(read_target(out), CH_OK);
}

static void assert_call_in_damaged_memory_is_bounded(void **state)
{
    (void)state;
    static const uint64_t damage[] = { 0, UINT64_MAX, BASE + AT_CALL + 5,
                                       UINT64_C(0x8000000000000000) };
    for (size_t at = 0; at < AT_STACK + 256; at += 4) {
        for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
            char out[ABORT_MESSAGE_MAX] = "";
            build(NULL);
            memcpy(target + at, &damage[i], sizeof(damage[i]));
            memory.read_count = 0;
            (void)!read_target(out);
            assert_true(memory.read_count < 20000);
            assert_non_null(memchr(out, 0, sizeof(out)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(assert_call_is_worded_as_the_library_does, build),
        cmocka_unit_test_setup(assert_call_of_another_function_is_none, build),
        cmocka_unit_test_setup(assert_call_through_the_linkage_table_is_one, build),
        cmocka_unit_test(assert_call_in_damaged_memory_is_bounded),
    };
    return cmocka_run_group_tests_name("agent/assert_call", tests, NULL, NULL);
}
