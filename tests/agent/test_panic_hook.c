// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/panics.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

// The program's constants, and what a stack and a heap hold when a panic ends it.
enum { SP = 0x7ff000010000, DATA = 0x555500001000, HEAP = 0x555500a00000 };
enum { VTABLE = 0, PLACE = 4, FILE_TEXT = 8, WORDS = 64 };

static uint64_t stack[WORDS];
static uint64_t data[WORDS];
static char heap[256];

static int fill(void **state)
{
    (void)state;
    memset(stack, 0, sizeof(stack));
    memset(data, 0, sizeof(data));
    memset(heap, 0, sizeof(heap));
    data[VTABLE] = 0x555500000100; // the destructor; then size and alignment
    data[VTABLE + 1] = 24;
    data[VTABLE + 2] = 8;
    memcpy(&data[FILE_TEXT], "src/main.rs", sizeof("src/main.rs"));
    data[PLACE] = DATA + 8 * FILE_TEXT;
    data[PLACE + 1] = strlen("src/main.rs");
    data[PLACE + 2] = UINT64_C(9) << 32 | 4; // column 9 of line 4
    memcpy(heap, "no such page", sizeof("no such page"));
    return 0;
}

static bool is_in_data(void *context, uint64_t address)
{
    (void)context;
    return address - DATA < sizeof(data);
}

static enum ch_status read_above_sp(char out[static ABORT_MESSAGE_MAX])
{
    const struct fake_region regions[] = {
        { SP, (const char *)stack, sizeof(stack) },
        { DATA, (const char *)data, sizeof(data) },
        { HEAP, heap, sizeof(heap) },
    };
    struct fake_memory memory = { .regions = regions, .region_count = 3 };
    struct memory_reader reader = fake_memory_reader(&memory);
    const struct panic_search search = { .sp = SP,
                                         .thread = "main",
                                         .is_constant = is_in_data };
    return panic_hook_read(&reader, &search, out);
}

// put_hook_info puts a payload at word 40, and what the hook was given at word 20; gap
// words stand between the payload's vtable and the place.
static void put_hook_info(size_t gap)
{
    stack[20] = SP + 8 * 40;
    stack[21] = DATA + 8 * VTABLE;
    stack[22 + gap] = DATA + 8 * PLACE;
    stack[40] = 16; // a String: capacity, pointer, length
    stack[41] = HEAP;
    stack[42] = strlen(heap);
}

static void assert_said(const char *wanted)
{
    char out[ABORT_MESSAGE_MAX];
    assert_int_equal(read_above_sp(out), CH_OK);
    assert_string_equal(out, wanted);
}

static void assert_nothing_said(void)
{
    char out[ABORT_MESSAGE_MAX];
    assert_int_equal(read_above_sp(out), CH_ERR_NOT_FOUND);
}

static void the_formatted_message_is_read_from_the_payload(void **state)
{
    (void)state;
    put_hook_info(0);
    assert_said("thread 'main' panicked at src/main.rs:4:9: no such page");
}

static void older_versions_pass_the_message_s_parts_before_the_place(void **state)
{
    (void)state;
    put_hook_info(1);
    stack[22] = SP + 8 * 50;
    stack[40] = HEAP;
    stack[41] = 16;
    assert_said("thread 'main' panicked at src/main.rs:4:9: no such page");
}

// Where the compiler left no PanicHookInfo, the runtime's payload, a String with the
// address of the message's parts, and PanicInfo are on the stack.
static void a_formatted_message_is_read_where_the_hook_was_inlined(void **state)
{
    enum { PAYLOAD = 10, INFO = 30, PARTS = 40 };
    (void)state;
    for (size_t first = 0; first <= 1; first++) {
        fill(NULL);
        uint64_t *link = &stack[PAYLOAD + (first == 0 ? 3 : 0)];
        stack[PAYLOAD + first] = HEAP;
        stack[PAYLOAD + first + 1] = 16;
        stack[PAYLOAD + first + 2] = strlen(heap);
        stack[INFO] = SP + 8 * PARTS;
        stack[INFO + 1] = DATA + 8 * PLACE;
        stack[PARTS] = DATA + 1;
        *link = SP + 8 * INFO; // of the address of the parts
        assert_said("thread 'main' panicked at src/main.rs:4:9: no such page");
        *link = SP + 8 * PARTS;
        assert_said("thread 'main' panicked at src/main.rs:4:9: no such page");
        *link += 8; // of something else
        assert_nothing_said();
        *link -= 8;
        stack[PARTS] = HEAP; // no parts
        assert_nothing_said();
        stack[PARTS] = DATA + 1;
        stack[PAYLOAD + first + 1] = UINT64_C(1) << 40; // no capacity
        assert_nothing_said();
    }
}

static void a_literal_message_is_read_where_it_is(void **state)
{
    (void)state;
    put_hook_info(0);
    data[VTABLE] = 0; // nothing to destroy
    data[VTABLE + 1] = 16;
    stack[40] = HEAP;
    stack[41] = 7;
    assert_said("thread 'main' panicked at src/main.rs:4:9: no such");
}

// Where the compiler left no PanicHookInfo, the literal is on the stack before the
// place, and once more where it was passed.
static void a_literal_message_is_read_where_the_hook_was_inlined(void **state)
{
    enum { LITERAL = FILE_TEXT + 8, PAYLOAD = 10, PASSED = 30 };
    (void)state;
    memcpy(&data[LITERAL], "out of paper", sizeof("out of paper"));
    stack[PAYLOAD] = stack[PASSED] = DATA + 8 * LITERAL;
    stack[PAYLOAD + 1] = stack[PASSED + 1] = strlen("out of paper");
    stack[PAYLOAD + 2] = DATA + 8 * PLACE;
    assert_said("thread 'main' panicked at src/main.rs:4:9: out of paper");
    stack[PASSED + 1]--; // another one
    assert_nothing_said();
    stack[PAYLOAD] = stack[PASSED] = data[PLACE]; // the name of the file
    stack[PAYLOAD + 1] = stack[PASSED + 1] = data[PLACE + 1];
    assert_nothing_said();
    memcpy(&data[LITERAL], "main", sizeof("main")); // that of the thread
    stack[PAYLOAD] = stack[PASSED] = DATA + 8 * LITERAL;
    stack[PAYLOAD + 1] = stack[PASSED + 1] = strlen("main");
    assert_nothing_said();
}

static void a_place_that_is_no_rust_source_is_none(void **state)
{
    (void)state;
    put_hook_info(0);
    memcpy(&data[FILE_TEXT], "src/main.cc", sizeof("src/main.cc"));
    assert_nothing_said();
}

static void what_is_no_text_is_not_quoted(void **state)
{
    (void)state;
    put_hook_info(0);
    heap[3] = 1;
    assert_nothing_said();
    fill(NULL);
    put_hook_info(0);
    stack[42] = 17; // longer than its room
    assert_nothing_said();
    fill(NULL);
    put_hook_info(0);
    stack[41] = 0x1000; // nowhere
    assert_nothing_said();
}

// Vtables are in images: what a heap has in the form of one is none.
static void a_vtable_outside_of_images_is_none(void **state)
{
    enum { COPY = 64 };
    (void)state;
    put_hook_info(0);
    memcpy(heap + COPY, data, 3 * sizeof(data[0]));
    stack[21] = HEAP + COPY;
    assert_nothing_said();
}

// A panic for another one that cannot unwind: that one's exception is on the heap, with
// the runtime's own word before the payload or without.
static void what_a_panic_said_that_could_not_unwind_is_added(void **state)
{
    static const char said[] = "panic in a function that cannot unwind";
    enum { EXCEPTION = 64, TEXT = 160, SLICE_TABLE = 16 };
    (void)state;
    for (size_t at = 4; at <= 5; at++) {
        fill(NULL);
        put_hook_info(0);
        memcpy(heap, said, sizeof(said));
        memcpy(heap + TEXT, "page 7 is torn", strlen("page 7 is torn"));
        stack[40] = stack[42] = strlen(said);
        data[SLICE_TABLE + 1] = 16;
        data[SLICE_TABLE + 2] = 8;
        stack[50] = HEAP + TEXT;
        stack[51] = strlen("page 7 is torn");
        uint64_t exception[7] = { at == 4 ? UINT64_C(0x4d4f5a0052555354)
                                          : UINT64_C(0x54535552005a4f4d) };
        exception[at] = SP + 8 * 50;
        exception[at + 1] = DATA + 8 * SLICE_TABLE;
        memcpy(heap + EXCEPTION, exception, sizeof(exception));
        stack[60] = HEAP + EXCEPTION;
        assert_said(
            "thread 'main' panicked at src/main.rs:4:9: panic in a function that "
            "cannot unwind; panic under way: page 7 is torn");
        heap[EXCEPTION]++; // of another language
        assert_said(
            "thread 'main' panicked at src/main.rs:4:9: panic in a function that "
            "cannot unwind");
    }
}

static void a_stack_without_a_panic_says_nothing(void **state)
{
    (void)state;
    assert_nothing_said();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_formatted_message_is_read_from_the_payload, fill),
        cmocka_unit_test_setup(older_versions_pass_the_message_s_parts_before_the_place,
                               fill),
        cmocka_unit_test_setup(a_formatted_message_is_read_where_the_hook_was_inlined,
                               fill),
        cmocka_unit_test_setup(a_literal_message_is_read_where_it_is, fill),
        cmocka_unit_test_setup(a_literal_message_is_read_where_the_hook_was_inlined,
                               fill),
        cmocka_unit_test_setup(a_place_that_is_no_rust_source_is_none, fill),
        cmocka_unit_test_setup(what_is_no_text_is_not_quoted, fill),
        cmocka_unit_test_setup(a_vtable_outside_of_images_is_none, fill),
        cmocka_unit_test_setup(what_a_panic_said_that_could_not_unwind_is_added, fill),
        cmocka_unit_test_setup(a_stack_without_a_panic_says_nothing, fill),
    };
    return cmocka_run_group_tests_name("agent/panic_hook", tests, NULL, NULL);
}
