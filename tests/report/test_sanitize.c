// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/sanitize.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define HOME "/home/ann"

// result copies what text holds and frees it, so that an assertion leaks nothing.
static const char *result(struct text *text)
{
    static char copy[512];
    (void)snprintf(copy, sizeof(copy), "%s", text->size != 0 ? text->bytes : "");
    text_deinit(text);
    return copy;
}

static const char *path(const char *string, const char *home)
{
    struct text out = { 0 };
    sanitize_path(string, home, &out);
    return result(&out);
}

static const char *string(const char *input)
{
    struct text out = { 0 };
    sanitize_string(input, HOME, &out);
    return result(&out);
}

// line sanitizes a command line and joins it with bars.
static const char *line(const char *const *arguments)
{
    struct sanitize_arguments line = { .home = HOME };
    struct text out = { 0 };
    for (; *arguments != NULL; arguments++) {
        sanitize_argument(&line, *arguments, &out);
        text_append_string(&out, arguments[1] != NULL ? "|" : "");
    }
    return result(&out);
}

#define LINE(...) line((const char *const[]){ __VA_ARGS__, NULL })

static void sanitize_path_replaces_the_home_as_a_whole_folder(void **state)
{
    (void)state;
    assert_string_equal(path("/home/ann/bin/app", HOME), "~/bin/app");
    assert_string_equal(path("/home/ann", HOME), "~");
    assert_string_equal(path("/home/ann/x", "/home/ann//"), "~/x");
    assert_string_equal(path("/home/annette/x", HOME), "/home/annette/x");
    assert_string_equal(path("/home/bob/x", HOME), "/home/bob/x");
    assert_string_equal(path("/usr/lib/x.so", "/"), "/usr/lib/x.so");
    assert_string_equal(path("/usr/lib/x.so", NULL), "/usr/lib/x.so");
    assert_string_equal(path("[vdso]", ""), "[vdso]");
}

static void sanitize_string_replaces_anybodys_home_inside(void **state)
{
    (void)state;
    assert_string_equal(string("open /home/bob/x.c: failed"), "open ~/x.c: failed");
    assert_string_equal(string("-I/home/ann/a:/home/ann/b"), "-I~/a:~/b");
    assert_string_equal(string("/srv/home/x"), "/srv/home/x");
    assert_string_equal(string("/home/"), "/home/");
}

static void sanitize_arguments_mask_values_of_secret_options(void **state)
{
    (void)state;
    assert_string_equal(LINE("app", "--password=a,b c"), "app|--password=***");
    assert_string_equal(LINE("app", "--token", "abc", "x"), "app|--token|***|x");
    assert_string_equal(LINE("app", "--api-key=1", "DB_PASS=2"),
                        "app|--api-key=***|DB_PASS=***");
    assert_string_equal(LINE("app", "--accessToken", "abc"), "app|--accessToken|***");
    assert_string_equal(LINE("env", "OTEL_EXPORTER_OTLP_HEADERS=a=b,c=d e"),
                        "env|OTEL_EXPORTER_OTLP_HEADERS=***");
    assert_string_equal(LINE("env", "OTEL_EXPORTER_OTLP_LOGS_HEADERS=a=b"),
                        "env|OTEL_EXPORTER_OTLP_LOGS_HEADERS=***");
    assert_string_equal(LINE("curl", "-u", "ann:pw", "-v"), "curl|-u|ann:***|-v");
}

static void sanitize_arguments_leave_harmless_ones_alone(void **state)
{
    (void)state;
    assert_string_equal(LINE("app", "--tokenizer=fast", "--monkey", "see"),
                        "app|--tokenizer=fast|--monkey|see");
    assert_string_equal(LINE("app", "--token", "--verbose"), "app|--token|--verbose");
    assert_string_equal(LINE("app", "--password=", "x"), "app|--password=|x");
    assert_string_equal(LINE("-u", "ann", "host:8080"), "-u|ann|host:8080");
    assert_string_equal(LINE("", "a=b", "--", "http://x:80/"), "|a=b|--|http://x:80/");
}

static void sanitize_masks_logins_and_parameters_of_urls(void **state)
{
    (void)state;
    assert_string_equal(string("https://ann:p@ss@host/x"), "https://***@host/x");
    assert_string_equal(string("sentry+https://0123@host/7"),
                        "sentry+https://***@host/7");
    assert_string_equal(string("http://h/?a=1&token=abc&b=2"),
                        "http://h/?a=1&token=***&b=2");
    assert_string_equal(string("http://h/a@b"), "http://h/a@b");
}

static void sanitize_masks_keys_wherever_they_stand(void **state)
{
    (void)state;
    assert_string_equal(string("id AKIAIOSFODNN7EXAMPLE."), "id ***");
    assert_string_equal(string("ghp_0123456789abcdefghij"), "***");
    assert_string_equal(string("Authorization: Bearer abc"), "Authorization: ***");
    assert_string_equal(string("x=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIz"), "x=***");
    assert_string_equal(string("da39a3ee5e6b4b0d3255bfef95601890afd80709"),
                        "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

static void sanitize_masks_a_value_and_no_text_beside_it(void **state)
{
    (void)state;
    assert_string_equal(string("{\"password\":\"hunter2(\",\"user\":\"bob\"}"),
                        "{\"password\":\"***\",\"user\":\"bob\"}");
    assert_string_equal(
        string("{\"credentials\":{\"a\":{\"b\":\"x\"},\"c\":\"sesame\"},\"d\":1}"),
        "{\"credentials\":{***},\"d\":1}");
    assert_string_equal(string("token: Some(\"abcdef\")"), "token: Some(\"***\")");
    assert_string_equal(string("token = lexer.next(\"identifier\")"),
                        "token = lexer.next(\"identifier\")");
    assert_string_equal(string("Cache<Token>.get failed"), "Cache<Token>.get failed");
    assert_string_equal(string("<password>hunter2"), "<password>***");
    assert_string_equal(string("PASS hunter2x"), "PASS ***");
    assert_string_equal(string("running pass mem2reg2x"), "running pass mem2reg2x");
}

static void sanitize_masks_a_block_of_yaml_after_any_header(void **state)
{
    (void)state;
    assert_string_equal(string("token: >\n  hunter22x\nport: 1"),
                        "token: >\n  ***\nport: 1");
    assert_string_equal(string("password: |\r\n  hunter22x\r\nport: 1"),
                        "password: |\r\n  ***\r\nport: 1");
    assert_string_equal(string("password: |2-\n\n  hunter22x\nport: 1"),
                        "password: |2-\n\n  ***\nport: 1");
    assert_string_equal(string("{\"t\":\"password: |\\r\\n  hunter22x\\r\\nport: 1\"}"),
                        "{\"t\":\"password: |\\r\\n  ***\\r\\nport: 1\"}");
}

// Arguments are as long as their program likes, and are masked while it is held.
static void sanitize_takes_a_megabyte_of_one_word_in_its_stride(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    struct text out = { 0 };
    char *word = malloc(SIZE + 1);
    assert_non_null(word);
    memset(word, 'a', SIZE);
    word[SIZE] = 0;
    sanitize_string(word, HOME, &out);
    bool same = out.size == SIZE && memcmp(out.bytes, word, SIZE) == 0;
    free(word);
    text_deinit(&out);
    assert_true(same);
}

static void sanitize_stops_at_the_limit_of_the_text(void **state)
{
    (void)state;
    struct text out = { .limit_bytes = 4 };
    sanitize_string("abcdefgh", NULL, &out);
    bool ok = text_ok(&out);
    text_deinit(&out);
    assert_false(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sanitize_path_replaces_the_home_as_a_whole_folder),
        cmocka_unit_test(sanitize_string_replaces_anybodys_home_inside),
        cmocka_unit_test(sanitize_arguments_mask_values_of_secret_options),
        cmocka_unit_test(sanitize_arguments_leave_harmless_ones_alone),
        cmocka_unit_test(sanitize_masks_logins_and_parameters_of_urls),
        cmocka_unit_test(sanitize_masks_keys_wherever_they_stand),
        cmocka_unit_test(sanitize_masks_a_value_and_no_text_beside_it),
        cmocka_unit_test(sanitize_masks_a_block_of_yaml_after_any_header),
        cmocka_unit_test(sanitize_takes_a_megabyte_of_one_word_in_its_stride),
        cmocka_unit_test(sanitize_stops_at_the_limit_of_the_text),
    };
    return cmocka_run_group_tests_name("report/sanitize", tests, NULL, NULL);
}
