// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <string.h>

#include "support/test.h"

// decoded is the character that bytes begin with, or UINT32_MAX, and checks that it
// takes size bytes.
static uint32_t decoded(const char *bytes, size_t left, size_t size)
{
    uint32_t character = UINT32_MAX;
    assert_int_equal(utf8_decode(bytes, left, &character), size);
    return character;
}

static void utf8_decodes_characters_of_each_length(void **state)
{
    (void)state;
    assert_int_equal(decoded("A", 1, 1), 'A');
    assert_int_equal(decoded("\0", 1, 1), 0);
    assert_int_equal(decoded("\xc3\xbcx", 3, 2), 0xfc);
    assert_int_equal(decoded("\xe2\x82\xac", 3, 3), 0x20ac);
    assert_int_equal(decoded("\xf0\x9f\x98\x80", 4, 4), 0x1f600);
    assert_int_equal(decoded("\xf4\x8f\xbf\xbf", 4, 4), 0x10ffff);
}

static void utf8_refuses_what_is_no_character(void **state)
{
    (void)state;
    static const char *const bytes[] = {
        "\x80",
        "\xbf",
        "\xfe",
        "\xff", // no beginning
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf", // overlong
        "\xed\xa0\x80",
        "\xed\xbf\xbf", // surrogates
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80", // past the last
        "\xc3x",
        "\xe2\x82x",
        "\xf0\x9f\x98x", // not continued
    };
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        assert_int_equal(decoded(bytes[i], strlen(bytes[i]), 0), UINT32_MAX);
}

static void utf8_reads_no_further_than_there_is(void **state)
{
    (void)state;
    static const char *const whole[] = { "\xc3\xbc", "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80" };
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        for (size_t left = 1; left < strlen(whole[i]); left++)
            assert_int_equal(decoded(whole[i], left, 0), UINT32_MAX);
    }
}

static void utf8_cuts_between_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xe2\x82\xac";
    assert_int_equal(utf8_cut(text, 4, 9), 4);
    assert_int_equal(utf8_cut(text, 4, 4), 4);
    assert_int_equal(utf8_cut(text, 4, 3), 1);
    assert_int_equal(utf8_cut(text, 4, 2), 1);
    assert_int_equal(utf8_cut(text, 4, 1), 1);
    assert_int_equal(utf8_cut(text, 4, 0), 0);
}

static void utf8_encodes_what_it_decodes(void **state)
{
    (void)state;
    static const uint32_t characters[] = { 0x20,  0x7e,   0x80,    0x7ff,
                                           0x800, 0xffff, 0x10000, 0x10ffff };
    static const uint32_t others[] = { 0, '\n', 0x7f, 0xd800, 0xdfff, 0x110000 };
    char bytes[UTF8_MAX_BYTES];
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        uint32_t back;
        size_t size = utf8_encode(characters[i], bytes);
        assert_int_equal(utf8_decode(bytes, size, &back), size);
        assert_int_equal(back, characters[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(utf8_encode(others[i], bytes), 1);
        assert_int_equal(bytes[0], '?');
    }
}

static void utf8_repair_replaces_what_is_no_part_of_a_character(void **state)
{
    (void)state;
    char text[] = "a\xc3\xa9\xff\xe2\x82 b\xf0\x9f";
    utf8_repair(text, sizeof(text) - 1);
    assert_string_equal(text, "a\xc3\xa9??? b??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_repair_replaces_what_is_no_part_of_a_character),
        cmocka_unit_test(utf8_decodes_characters_of_each_length),
        cmocka_unit_test(utf8_refuses_what_is_no_character),
        cmocka_unit_test(utf8_reads_no_further_than_there_is),
        cmocka_unit_test(utf8_cuts_between_characters),
        cmocka_unit_test(utf8_encodes_what_it_decodes),
    };
    return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
