// SPDX-License-Identifier: Apache-2.0
#include "cli/render/pen.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// printed is what pen_bytes writes of size bytes, to be freed.
static char *printed(const char *bytes, size_t size)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    const struct pen pen = { .to = to };
    pen_bytes(&pen, bytes, size);
    fclose(to);
    return text;
}

static void printable_text_of_any_length_is_written_as_it_is(void **state)
{
    (void)state;
    char text[64];
    size_t same = 0;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(' ' + i * 3 % ('~' - ' ' + 1));
    for (size_t size = 0; size < sizeof(text); size++) {
        char *got = printed(text, size);
        same += strlen(got) == size && memcmp(got, text, size) == 0;
        free(got);
    }
    assert_int_equal(same, sizeof(text));
}

// Each byte that steers a terminal stands once at each place of a text, before and
// after which there is plain text.
static void what_steers_a_terminal_is_escaped_wherever_it_stands(void **state)
{
    (void)state;
    enum { LENGTH = 24 };
    static const uint8_t bytes[] = { 0x00, 0x01, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0xff };
    size_t escaped = 0;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        for (size_t at = 0; at < LENGTH; at++) {
            char text[LENGTH];
            char expected[LENGTH + 8];
            memset(text, '~', sizeof(text));
            text[at] = (char)bytes[i];
            int length =
                snprintf(expected, sizeof(expected), "%.*s\\x%02x%.*s", (int)at, text,
                         bytes[i], (int)(LENGTH - at - 1), text + at + 1);
            char *got = printed(text, sizeof(text));
            escaped += (size_t)length == strlen(got) && strcmp(got, expected) == 0;
            free(got);
        }
    }
    assert_int_equal(escaped, sizeof(bytes) * LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printable_text_of_any_length_is_written_as_it_is),
        cmocka_unit_test(what_steers_a_terminal_is_escaped_wherever_it_stands),
    };
    return cmocka_run_group_tests_name("cli/pen", tests, NULL, NULL);
}
