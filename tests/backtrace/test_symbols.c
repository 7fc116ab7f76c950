// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static void check_description(const struct crashhook_symbol *symbol, const char *wanted)
{
    char *text = crashhook_symbol_description(symbol);
    int same = strcmp(text, wanted);
    free(text);
    assert_int_equal(same, 0);
}

static void a_symbols_name_and_flags_follow_from_its_raw_name(void **state)
{
    (void)state;
    static const struct {
        const char *raw_name;
        const char *name;
        bool failure;
        bool thunk;
        bool system;
    } cases[] = {
        { "_ZN4shop4cartEv", "shop::cart()", false, false, false },
        { "main", "main", false, false, false },
        { "_start", "_start", false, false, true },
        { "_ZThn16_N1A1fEv", "non-virtual thunk to A::f()", false, true, false },
        { "puts@plt", "puts@plt", false, true, true },
        { "__ubsan_handle_add_overflow", "__ubsan_handle_add_overflow", true, false,
          true },
        { "_ZNSt6vectorIiSaIiEE2atEm",
          "std::vector<int, std::allocator<int> >::at(unsigned long)", false, false,
          true },
        { "_ZN4core9panicking5panic17h0123456789abcdefE", "core::panicking::panic",
          false, false, true },
        { "Swift runtime failure: Division by zero",
          "Swift runtime failure: Division by zero", true, false, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crashhook_symbol *symbol;
        assert_int_equal(
            crashhook_symbol_create(NULL, cases[i].raw_name, 0, NULL, &symbol), 0);
        int same = strcmp(symbol->name, cases[i].name);
        bool flags = symbol->is_runtime_failure == cases[i].failure &&
                     symbol->is_thunk == cases[i].thunk &&
                     symbol->is_system == cases[i].system;
        crashhook_symbol_destroy(symbol);
        assert_int_equal(same, 0);
        assert_true(flags);
    }
}

static void a_symbol_describes_its_offset_and_location(void **state)
{
    (void)state;
    struct crashhook_symbol symbol = { .image_index = SIZE_MAX,
                                       .raw_name = "f",
                                       .name = "f",
                                       .offset = 24,
                                       .location = { "/a.c", 7, 3 } };
    check_description(&symbol, "<unknown> f + 24 at /a.c:7:3");
    symbol.offset = -2;
    symbol.location.column = 0;
    check_description(&symbol, "<unknown> f - 2 at /a.c:7");
    symbol.offset = 0;
    symbol.location.line = 0;
    check_description(&symbol, "<unknown> f at /a.c");
    symbol.location.path = NULL;
    check_description(&symbol, "<unknown> f");
}

static struct crashhook_backtrace *captured;

static inline __attribute__((always_inline)) void inlined_call(void)
{
    (void)!crashhook_backtrace_capture(NULL, &captured);
}

__attribute__((noinline)) static void outer_call(void)
{
    inlined_call();
    __asm__ volatile("");
}

// named_with gives the first two frames' names and locations as text.
static void named_with(unsigned options, char *out, size_t size)
{
    struct crashhook_symbolicated_backtrace *named;
    assert_int_equal(crashhook_backtrace_symbolicate(captured, NULL, options, &named),
                     0);
    const struct crashhook_symbolicated_frame *first =
        crashhook_symbolicated_backtrace_at(named, 0);
    const struct crashhook_symbolicated_frame *second =
        crashhook_symbolicated_backtrace_at(named, 1);
    snprintf(out, size, "%s%s%s, %s", first->symbol->name,
             first->is_inline ? " inlined" : "",
             first->symbol->location.path != NULL ? " with line" : "",
             second->symbol->name);
    crashhook_symbolicated_backtrace_destroy(named);
}

static void options_say_whether_inlined_calls_and_lines_are_shown(void **state)
{
    (void)state;
    char text[256];
    outer_call();
    named_with(CRASHHOOK_SYMBOLICATION_DEFAULT, text, sizeof(text));
    assert_string_equal(text, "inlined_call inlined with line, outer_call");
    named_with(CRASHHOOK_SHOW_INLINE_FRAMES, text, sizeof(text));
    assert_string_equal(text, "inlined_call inlined, outer_call");
    named_with(CRASHHOOK_SHOW_SOURCE_LOCATIONS, text, sizeof(text));
    assert_string_equal(text, "outer_call with line, "
                              "options_say_whether_inlined_calls_and_lines_are_shown");
    named_with(0, text, sizeof(text));
    assert_string_equal(text, "outer_call, "
                              "options_say_whether_inlined_calls_and_lines_are_shown");
    crashhook_backtrace_destroy(captured);
}

static void an_address_in_no_image_stays_without_a_symbol(void **state)
{
    (void)state;
    const uint64_t address = 0x10;
    struct crashhook_backtrace *made;
    struct crashhook_symbolicated_backtrace *named;
    assert_int_equal(crashhook_backtrace_from_addresses(
                         &address, 1, CRASHHOOK_FRAME_PROGRAM_COUNTER, &made),
                     0);
    assert_int_equal(crashhook_backtrace_symbolicate(made, NULL, 0, &named), 0);
    const struct crashhook_symbolicated_frame *frame =
        crashhook_symbolicated_backtrace_at(named, 0);
    bool none = frame->symbol == NULL && !crashhook_symbolicated_frame_is_system(frame);
    size_t count = crashhook_symbolicated_backtrace_count(named);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(made);
    assert_int_equal(count, 1);
    assert_true(none);
}

static void a_friendly_text_without_own_functions_has_all(void **state)
{
    (void)state;
    const uint64_t address = (uintptr_t)qsort;
    struct crashhook_backtrace *made;
    struct crashhook_symbolicated_backtrace *named;
    assert_int_equal(crashhook_backtrace_from_addresses(
                         &address, 1, CRASHHOOK_FRAME_PROGRAM_COUNTER, &made),
                     0);
    assert_int_equal(crashhook_backtrace_symbolicate(made, NULL, 0, &named), 0);
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_FRIENDLY);
    bool has_name =
        text != NULL && strncmp(text, "0 ", 2) == 0 && strstr(text, "qsort") != NULL;
    free(text);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(made);
    assert_true(has_name);
}

static void a_location_describes_as_much_as_is_known(void **state)
{
    (void)state;
    struct crashhook_source_location location = { "/a.c", 7, 3 };
    char *whole = crashhook_source_location_description(&location);
    location.line = 0;
    char *path = crashhook_source_location_description(&location);
    int same = strcmp(whole, "/a.c:7:3") + strcmp(path, "/a.c");
    free(whole);
    free(path);
    assert_int_equal(same, 0);
}

static void a_named_backtrace_keeps_what_it_was_made_of(void **state)
{
    (void)state;
    struct crashhook_symbolicated_backtrace *named;
    size_t sizes[2];
    outer_call();
    assert_int_equal(crashhook_backtrace_symbolicate(captured, NULL, 0, &named), 0);
    const struct crashhook_backtrace *kept =
        crashhook_symbolicated_backtrace_backtrace(named);
    const uint8_t *bytes[2] = { crashhook_backtrace_cbf(captured, &sizes[0]),
                                crashhook_backtrace_cbf(kept, &sizes[1]) };
    bool same = sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0 &&
                strcmp(crashhook_backtrace_architecture(kept),
                       crashhook_backtrace_architecture(captured)) == 0;
    bool images = crashhook_symbolicated_backtrace_images(named) != NULL;
    bool failure = crashhook_symbolicated_backtrace_runtime_failure(named) != NULL;
    bool thunk = crashhook_symbolicated_frame_is_thunk(
        crashhook_symbolicated_backtrace_at(named, 0));
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(captured);
    assert_true(same);
    assert_true(images);
    assert_false(failure);
    assert_false(thunk);
}

// This program exports names that libdw and libelf have too, as one with libdwarf does,
// or with another libelf.
#define OTHER(name)                                                                    \
    __attribute__((visibility("default"))) void name(void);                            \
    void name(void)                                                                    \
    {                                                                                  \
        abort();                                                                       \
    }
OTHER(dwarf_attr)
OTHER(dwarf_formstring)
OTHER(dwarf_offdie)
OTHER(dwarf_tag)
OTHER(dwarf_diename)
#if !CRASHHOOK_SANITIZED // a sanitizer does not let libdw be bound to its own libelf
OTHER(elf_begin)
OTHER(elf_getdata)
OTHER(elf_getscn)
OTHER(elf_nextscn)
OTHER(elf_rawdata)
OTHER(elf_version)
OTHER(gelf_getehdr)
OTHER(gelf_getshdr)
#endif

static void functions_of_the_program_with_libdws_names_are_not_called(void **state)
{
    (void)state;
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    assert_int_equal(crashhook_backtrace_capture(NULL, &backtrace), 0);
    int error = crashhook_backtrace_symbolicate(
        backtrace, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT, &named);
    crashhook_backtrace_destroy(backtrace);
    assert_int_equal(error, 0);
    const struct crashhook_symbolicated_frame *frame =
        crashhook_symbolicated_backtrace_at(named, 0);
    bool has_line = frame->symbol != NULL && frame->symbol->location.line != 0;
    crashhook_symbolicated_backtrace_destroy(named);
    assert_true(has_line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbols_name_and_flags_follow_from_its_raw_name),
        cmocka_unit_test(a_symbol_describes_its_offset_and_location),
        cmocka_unit_test(options_say_whether_inlined_calls_and_lines_are_shown),
        cmocka_unit_test(an_address_in_no_image_stays_without_a_symbol),
        cmocka_unit_test(a_friendly_text_without_own_functions_has_all),
        cmocka_unit_test(a_location_describes_as_much_as_is_known),
        cmocka_unit_test(a_named_backtrace_keeps_what_it_was_made_of),
        cmocka_unit_test(functions_of_the_program_with_libdws_names_are_not_called),
    };
    return cmocka_run_group_tests_name("backtrace/symbols", tests, NULL, NULL);
}
