// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/abort_message.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum { PLACE = 0x1000 };

static enum ch_status read_text(const char *text, char out[static ABORT_MESSAGE_MAX])
{
    const struct fake_region region = { PLACE, text, strlen(text) + 1 };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    return sanitizer_words_read(&reader, PLACE, out);
}

static void sanitizer_words_are_the_error_and_the_access(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "=====\n==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603 "
          "at "
          "pc 0x1 bp 0x2 sp 0x3\nREAD of size 8 at 0x603 thread T0\n    #0 0x1 in f\n",
          "ERROR: AddressSanitizer: heap-use-after-free on address 0x603, READ of size "
          "8" },
        { "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1 bp 0x2 sp "
          "0x3 T0)\n==7==The signal is caused by a WRITE memory access.\n",
          "ERROR: AddressSanitizer: SEGV on unknown address 0x0" },
        { "==7==ERROR: AddressSanitizer: attempting double-free on 0x603",
          "ERROR: AddressSanitizer: attempting double-free on 0x603" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[ABORT_MESSAGE_MAX];
        assert_int_equal(read_text(cases[i][0], out), CH_OK);
        assert_string_equal(out, cases[i][1]);
    }
}

static void sanitizer_words_of_no_report_are_none(void **state)
{
    (void)state;
    char out[ABORT_MESSAGE_MAX];
    assert_int_equal(read_text("", out), CH_ERR_NOT_FOUND);
    assert_int_equal(read_text("something else", out), CH_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sanitizer_words_are_the_error_and_the_access),
        cmocka_unit_test(sanitizer_words_of_no_report_are_none),
    };
    return cmocka_run_group_tests_name("agent/sanitizer_words", tests, NULL, NULL);
}
