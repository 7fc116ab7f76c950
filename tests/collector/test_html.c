// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/html.h"

#include <stdio.h>

#include "support/test.h"

// expect compares what string is escaped to, and releases it before it asserts.
static void expect(const char *string, size_t limit, const char *expected)
{
    struct text out = { 0 };
    html_escape(&out, string, limit);
    char got[256];
    (void)snprintf(got, sizeof(got), "%s", out.bytes != NULL ? out.bytes : "");
    text_deinit(&out);
    assert_string_equal(got, expected);
}

static void html_turns_the_five_special_characters_into_entities(void **state)
{
    (void)state;
    expect("<a href=\"x\" id='y'>&amp;", 100,
           "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
}

static void html_keeps_letters_of_any_script(void **state)
{
    (void)state;
    expect("über 日本 🙂\n\tz", 100, "über 日本 🙂\n\tz");
}

static void html_shows_characters_that_deceive_by_their_numbers(void **state)
{
    (void)state;
    expect("a\x1b[31m\u202egnp.exe\u200b\u2066\ufeff\x7f", 100,
           "a\\u{1B}[31m\\u{202E}gnp.exe\\u{200B}\\u{2066}\\u{FEFF}\\u{7F}");
}

static void html_replaces_bytes_that_are_no_utf8(void **state)
{
    (void)state;
    expect("a\xff\xc0\xaf\xed\xa0\x80z", 100, "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz");
}

static void html_cuts_at_a_whole_character(void **state)
{
    (void)state;
    expect("ab\u65e5\u672c", 4, "ab\u2026");
    expect("ab\u65e5\u672c", 5, "ab\u65e5\u2026");
    expect("abcd", 4, "abcd");
    expect("abcd", 0, "");
}

static void html_says_how_long_a_long_string_was(void **state)
{
    (void)state;
    char string[5001];
    memset(string, 'x', sizeof(string) - 1);
    string[5000] = 0;
    struct text out = { 0 };
    html_escape(&out, string, HTML_STRING_LIMIT);
    bool said = strstr(out.bytes, "\u2026 (5000 bytes in all)") != NULL;
    size_t size = out.size;
    text_deinit(&out);
    assert_true(said);
    assert_true(size < HTML_STRING_LIMIT + 64);
}

static void html_fills_the_holes_of_a_format(void **state)
{
    (void)state;
    struct text out = { 0 };
    const char *volatile nothing = NULL;
    html_write(&out, "<b title=\"%s\">%.*s</b> %d %u %zu %lld %'lld %llx 100%%%s", "\"",
               2, "a<b", -1, 2u, (size_t)3, -4LL, -123456LL, 255ULL, nothing);
    char got[128];
    (void)snprintf(got, sizeof(got), "%s", out.bytes);
    text_deinit(&out);
    assert_string_equal(
        got, "<b title=\"&quot;\">a&lt;\u2026</b> -1 2 3 -4 -123\u2009456 ff 100%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_turns_the_five_special_characters_into_entities),
        cmocka_unit_test(html_keeps_letters_of_any_script),
        cmocka_unit_test(html_shows_characters_that_deceive_by_their_numbers),
        cmocka_unit_test(html_replaces_bytes_that_are_no_utf8),
        cmocka_unit_test(html_cuts_at_a_whole_character),
        cmocka_unit_test(html_says_how_long_a_long_string_was),
        cmocka_unit_test(html_fills_the_holes_of_a_format),
    };
    return cmocka_run_group_tests_name("collector/html", tests, NULL, NULL);
}
