// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/exception.h"

#include <string.h>

#include "agent/messages/abort_message.h"
#include "support/fake_memory.h"
#include "support/test.h"

// A target with one uncaught exception, of a type whose base is std::runtime_error.
enum { BASE = 0x10000, TERMINATE = 0x700000 };
enum {
    AT_GLOBALS = 0x000,
    AT_STACK = 0x010,
    AT_HEADER = 0x100,
    AT_OBJECT = AT_HEADER + 112,
    AT_TYPE = 0x200,
    AT_RUNTIME_ERROR = 0x240,
    AT_KIND_VTABLE = 0x280, // of the type_info of types with one base
    AT_KIND = 0x2a0,
    AT_NAME = 0x300,
    AT_RUNTIME_NAME = 0x340,
    AT_KIND_NAME = 0x380,
    AT_WHAT = 0x400,
    AT_INNER_HEADER = 0x440,
    AT_INNER = AT_INNER_HEADER + 112,
    AT_CODE = 0x4c0,
    TARGET_BYTES = 0x4e0,
};

static uint8_t target[TARGET_BYTES];
static const struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static const struct exception_place place = { .globals = BASE + AT_GLOBALS,
                                              .terminate = TERMINATE,
                                              .sp = BASE + AT_STACK };

static void put(size_t at, uint64_t value)
{
    memcpy(target + at, &value, sizeof(value));
}

static void put_text(size_t at, const char *text)
{
    memcpy(target + at, text, strlen(text) + 1);
}

static int build(void **state)
{
    (void)state;
    memset(target, 0, sizeof(target));
    put(AT_GLOBALS, BASE + AT_HEADER);
    put(AT_STACK + 24, TERMINATE + 0x15);
    put(AT_HEADER, BASE + AT_TYPE);
    put(AT_HEADER + 80, UINT64_C(0x474e5543432b2b00));
    put(AT_OBJECT + 8, BASE + AT_WHAT);
    put(AT_TYPE, BASE + AT_KIND_VTABLE + 8);
    put(AT_TYPE + 8, BASE + AT_NAME);
    put(AT_TYPE + 16, BASE + AT_RUNTIME_ERROR);
    put(AT_RUNTIME_ERROR + 8, BASE + AT_RUNTIME_NAME);
    put(AT_KIND_VTABLE, BASE + AT_KIND);
    put(AT_KIND + 8, BASE + AT_KIND_NAME);
    put_text(AT_NAME, "*N6ledger6closedE");
    put_text(AT_RUNTIME_NAME, "St13runtime_error");
    put_text(AT_KIND_NAME, "N10__cxxabiv120__si_class_type_infoE");
    put_text(AT_WHAT, "the book\nis shut\n");
    return 0;
}

static enum ch_status read_target(struct exception *out)
{
    struct memory_reader reader = fake_memory_reader(&memory);
    return exception_read(&reader, &place, out);
}

static void exception_is_named_with_the_text_of_its_base(void **state)
{
    (void)state;
    struct exception found = { 0 };
    assert_int_equal(read_target(&found), CH_OK);
    assert_string_equal(found.type, "ledger::closed");
    assert_string_equal(found.what, "the book is shut");
}

// The code of std::terminate on AArch64: `bl get_terminate; bl FUNCTION`, in which that
// function, which calls the handler, is 16 bytes before it.
static void exception_is_found_by_the_signed_address_of_a_call_of_aarch64(void **state)
{
    (void)state;
    struct memory_reader reader = fake_memory_reader(&memory);
    struct exception found = { 0 };
    struct exception_place arm = place;
    arm.code.arch = UNWIND_ARCH_AARCH64;
    arm.terminate = BASE + AT_CODE;
    put(AT_CODE, UINT64_C(0x97fffffb97000000));
    put(AT_STACK + 24, UINT64_C(0x002a000000000000) + arm.terminate + 8);
    assert_int_equal(exception_read(&reader, &arm, &found), CH_OK);
    assert_string_equal(found.type, "ledger::closed");
    put(AT_STACK + 24, UINT64_C(0x002a000000000000) + arm.terminate - 8);
    assert_int_equal(exception_read(&reader, &arm, &found), CH_OK);
    put(AT_STACK + 24, arm.terminate - 16); // where it begins, no call has returned to
    assert_int_equal(exception_read(&reader, &arm, &found), CH_ERR_NOT_FOUND);
    arm.code.arch = UNWIND_ARCH_AMD64;
    put(AT_STACK + 24, arm.terminate - 8);
    assert_int_equal(exception_read(&reader, &arm, &found), CH_ERR_NOT_FOUND);
}

static void exception_that_is_being_handled_is_none(void **state)
{
    (void)state;
    struct exception found = { 0 };
    put(AT_STACK + 24, 0);
    assert_int_not_equal(read_target(&found), CH_OK);
    put(AT_STACK + 24, TERMINATE); // a pointer to the function is no call in it
    assert_int_not_equal(read_target(&found), CH_OK);
}

static void exception_of_another_runtime_is_none(void **state)
{
    (void)state;
    struct exception found = { 0 };
    put(AT_HEADER + 80, UINT64_C(0x434c4e47432b2b00)); // "CLNGC++"
    assert_int_equal(read_target(&found), CH_ERR_UNSUPPORTED);
}

static void exception_whose_type_is_its_own_base_keeps_its_name_alone(void **state)
{
    (void)state;
    struct exception found = { 0 };
    put(AT_TYPE + 16, BASE + AT_TYPE);
    assert_int_equal(read_target(&found), CH_OK);
    assert_string_equal(found.what, "");
}

// keep makes the exception one that std::throw_with_nested made, which keeps the
// object.
static void keep(uint64_t object)
{
    put_text(AT_RUNTIME_NAME, "St16nested_exception");
    put(AT_OBJECT + 8, object);
    put(AT_INNER_HEADER, BASE + AT_KIND);
    put(AT_INNER_HEADER + 80, UINT64_C(0x474e5543432b2b00));
}

static void exception_that_was_thrown_with_another_has_that_nested(void **state)
{
    (void)state;
    struct exception found = { 0 };
    keep(BASE + AT_INNER);
    assert_int_equal(read_target(&found), CH_OK);
    assert_string_equal(found.type, "ledger::closed");
    assert_int_equal(found.nested_count, 1);
    assert_string_equal(found.nested[0].type, "__cxxabiv1::__si_class_type_info");
}

static void exception_that_keeps_itself_or_no_exception_has_none_nested(void **state)
{
    (void)state;
    struct exception found = { 0 };
    const uint64_t kept[] = { 0, BASE + AT_OBJECT, BASE + AT_WHAT, UINT64_MAX };
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        keep(kept[i]);
        assert_int_equal(read_target(&found), CH_OK);
        assert_int_equal(found.nested_count, 0);
    }
}

static void exception_in_damaged_memory_is_bounded(void **state)
{
    (void)state;
    static const uint64_t damage[] = {
        0, 1, UINT64_MAX, BASE, BASE + TARGET_BYTES - 1, UINT64_C(0x8000000000000000)
    };
    for (size_t at = 0; at < TARGET_BYTES; at += 4) {
        for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
            struct exception found = { 0 };
            build(NULL);
            memcpy(target + at, &damage[i],
                   TARGET_BYTES - at < 8 ? TARGET_BYTES - at : 8);
            memory.read_count = 0;
            (void)!read_target(&found);
            assert_true(memory.read_count < 2000);
            assert_true(strlen(found.type) < EXCEPTION_TYPE_MAX);
        }
    }
}

static void exception_type_names_are_readable_where_they_are_plain(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "St13runtime_error", "std::runtime_error" },
        { "NSt8ios_base7failureB5cxx11E", "std::ios_base::failure[abi:cxx11]" },
        { "N12_GLOBAL__N_16closedE", "(anonymous namespace)::closed" },
        { "i", "int" },
        { "N5boost10wrapexceptISt13runtime_errorEE",
          "N5boost10wrapexceptISt13runtime_errorEE" },
        { "N3abc", "N3abc" },
        { "99999999999999999999a", "99999999999999999999a" },
        { "NE", "NE" },
        { "St", "St" },
        { "3abcE", "3abcE" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[EXCEPTION_TYPE_MAX] = "";
        memcpy(name, cases[i][0], strlen(cases[i][0]));
        exception_type_name(name);
        assert_string_equal(name, cases[i][1]);
    }
}

static void abort_message_is_read_bounded_and_made_one_line(void **state)
{
    (void)state;
    static char held[2 * ABORT_MESSAGE_MAX];
    char out[ABORT_MESSAGE_MAX] = "";
    const uint64_t pointer = 0x2000;
    const struct fake_region regions[] = { { 0x1000, &pointer, sizeof(pointer) },
                                           { 0x2000, held, sizeof(held) } };
    struct fake_memory two = { .regions = regions, .region_count = 2 };
    struct memory_reader reader = fake_memory_reader(&two);
    memcpy(held + 4, "a\tb: Assertion `c'\x1b failed.\n\n",
           sizeof("a\tb: Assertion `c'\x1b failed.\n\n"));
    assert_int_equal(abort_message_read(&reader, 0x1000, out), CH_OK);
    assert_string_equal(out, "a b: Assertion `c'  failed.");
    memset(held, 'x', sizeof(held));
    assert_int_equal(abort_message_read(&reader, 0x1000, out), CH_OK);
    assert_int_equal(strlen(out), ABORT_MESSAGE_MAX - 1);
    assert_int_equal(abort_message_read(&reader, 0x9000, out), CH_ERR_FAULT);
    assert_int_equal(abort_message_read(&reader, 0, out), CH_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(exception_is_named_with_the_text_of_its_base, build),
        cmocka_unit_test_setup(exception_that_is_being_handled_is_none, build),
        cmocka_unit_test_setup(exception_of_another_runtime_is_none, build),
        cmocka_unit_test_setup(
            exception_whose_type_is_its_own_base_keeps_its_name_alone, build),
        cmocka_unit_test_setup(exception_that_was_thrown_with_another_has_that_nested,
                               build),
        cmocka_unit_test_setup(
            exception_that_keeps_itself_or_no_exception_has_none_nested, build),
        cmocka_unit_test_setup(
            exception_is_found_by_the_signed_address_of_a_call_of_aarch64, build),
        cmocka_unit_test(exception_in_damaged_memory_is_bounded),
        cmocka_unit_test(exception_type_names_are_readable_where_they_are_plain),
        cmocka_unit_test(abort_message_is_read_bounded_and_made_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
