// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"

#include <errno.h>
#include <stdlib.h>

#include "support/test.h"

static void an_address_becomes_a_number_only_where_its_width_fits(void **state)
{
    (void)state;
    struct crashhook_address small = crashhook_address_make(7, 64);
    uint16_t u16;
    uint32_t u32;
    uint64_t u64 = 0;
    assert_int_equal(crashhook_address_to_u32(small, &u32), ERANGE);
    assert_int_equal(crashhook_address_to_u64(small, &u64), 0);
    assert_int_equal(u64, 7);
    assert_int_equal(crashhook_address_to_u16(crashhook_address_make(7, 32), &u16),
                     ERANGE);
    assert_int_equal(
        crashhook_address_to_u16(crashhook_address_make(0x17777, 16), &u16), 0);
    assert_int_equal(u16, 0x7777);
}

static void an_address_is_null_whatever_its_width(void **state)
{
    (void)state;
    assert_true(crashhook_address_is_null(crashhook_address_make(0, 16)));
    assert_true(crashhook_address_is_null(crashhook_address_make(1, 17)));
    assert_false(crashhook_address_is_null(crashhook_address_make(1, 64)));
}

static void an_address_comes_back_from_its_text(void **state)
{
    (void)state;
    static const unsigned widths[] = { 16, 32, 64 };
    for (size_t i = 0; i < 3; i++) {
        char text[CRASHHOOK_ADDRESS_TEXT];
        struct crashhook_address read;
        struct crashhook_address made = crashhook_address_make(0xfedc, widths[i]);
        assert_int_equal(
            crashhook_address_parse(crashhook_address_format(made, text), &read), 0);
        assert_int_equal(crashhook_address_compare(made, read), 0);
        assert_int_equal(crashhook_address_hash(made), crashhook_address_hash(read));
    }
}

static void text_that_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "0x", "12345678", "0x123", "0xzzzz", "0x-123", "0x000000000000000001"
    };
    struct crashhook_address read;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(crashhook_address_parse(wrong[i], &read), EINVAL);
}

static void only_a_return_address_is_adjusted(void **state)
{
    (void)state;
    struct crashhook_frame frame = { .address = crashhook_address_make(0x1000, 64) };
    static const uint64_t adjusted[] = { 0x1000, 0xfff, 0x1000, 0, 0 };
    static const char *const texts[] = { "0x0000000000001000",
                                         "0x0000000000001000 [ra]",
                                         "0x0000000000001000 [async]", "...", "..." };
    for (int kind = 0; kind <= CRASHHOOK_FRAME_TRUNCATED; kind++) {
        frame.kind = (enum crashhook_frame_kind)kind;
        char *text = crashhook_frame_description(&frame);
        int same = strcmp(text, texts[kind]);
        free(text);
        assert_int_equal(same, 0);
        assert_int_equal(crashhook_frame_adjusted_program_counter(&frame).bits,
                         adjusted[kind]);
        assert_int_equal(crashhook_frame_original_program_counter(&frame).bits,
                         kind < CRASHHOOK_FRAME_OMITTED ? 0x1000 : 0);
    }
}

static void frames_that_cannot_stand_together_are_refused(void **state)
{
    (void)state;
    struct crashhook_backtrace *made;
    struct crashhook_frame frames[2] = {
        { .kind = CRASHHOOK_FRAME_PROGRAM_COUNTER,
          .address = crashhook_address_make(1, 64) },
        { .kind = CRASHHOOK_FRAME_RETURN_ADDRESS,
          .address = crashhook_address_make(1, 32) },
    };
    assert_int_equal(crashhook_backtrace_from_frames("x", frames, 2, NULL, &made),
                     EINVAL);
    frames[1] = (struct crashhook_frame){ .kind = CRASHHOOK_FRAME_OMITTED };
    assert_int_equal(crashhook_backtrace_from_frames("x", frames, 2, NULL, &made),
                     EINVAL);
    frames[1] = frames[0];
    frames[0].kind = CRASHHOOK_FRAME_TRUNCATED;
    assert_int_equal(crashhook_backtrace_from_frames("x", frames, 2, NULL, &made),
                     EINVAL);
}

static void omitted_frames_count_in_the_numbers_of_a_description(void **state)
{
    (void)state;
    struct crashhook_backtrace *made;
    const struct crashhook_frame frames[] = {
        { CRASHHOOK_FRAME_PROGRAM_COUNTER, crashhook_address_make(0x10, 32), 0 },
        { .kind = CRASHHOOK_FRAME_OMITTED, .omitted = 92 },
        { CRASHHOOK_FRAME_RETURN_ADDRESS, crashhook_address_make(0x20, 32), 0 },
        { .kind = CRASHHOOK_FRAME_TRUNCATED },
    };
    assert_int_equal(crashhook_backtrace_from_frames("m68k", frames, 4, NULL, &made),
                     0);
    char *text = crashhook_backtrace_description(made);
    int same = strcmp(text, "Architecture: m68k\n\n0\t0x00000010\n1\t...\n"
                            "93\t0x00000020 [ra]\n94\t...");
    free(text);
    crashhook_backtrace_destroy(made);
    assert_int_equal(same, 0);
}

static void an_address_knows_its_width(void **state)
{
    (void)state;
    assert_int_equal(crashhook_address_bit_width(crashhook_address_make(7, 16)), 16);
    assert_int_equal(crashhook_address_bit_width(crashhook_address_make(7, 64)), 64);
    assert_int_equal(crashhook_address_bit_width(crashhook_address_make(7, 8)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_becomes_a_number_only_where_its_width_fits),
        cmocka_unit_test(an_address_is_null_whatever_its_width),
        cmocka_unit_test(an_address_comes_back_from_its_text),
        cmocka_unit_test(text_that_is_no_address_is_refused),
        cmocka_unit_test(only_a_return_address_is_adjusted),
        cmocka_unit_test(frames_that_cannot_stand_together_are_refused),
        cmocka_unit_test(an_address_knows_its_width),
        cmocka_unit_test(omitted_frames_count_in_the_numbers_of_a_description),
    };
    return cmocka_run_group_tests_name("backtrace/addresses", tests, NULL, NULL);
}
