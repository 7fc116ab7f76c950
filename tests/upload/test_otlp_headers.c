// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/otlp_headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// given returns what otlp_headers_read makes of list, "!why" where it fails.
static const char *given(const char *list)
{
    static char result[512];
    struct text headers = { 0 };
    const char *why = "";
    enum ch_status status = otlp_headers_read(list, &headers, &why);
    (void)snprintf(result, sizeof(result), "%s%s", status == CH_OK ? "" : "!",
                   status != CH_OK     ? why
                   : headers.size != 0 ? headers.bytes
                                       : "");
    if (status != CH_OK && headers.size != 0)
        (void)snprintf(result, sizeof(result), "half of it was taken");
    text_deinit(&headers);
    return result;
}

static void otlp_headers_are_a_line_each(void **state)
{
    (void)state;
    assert_string_equal(given(" api-key = k1 ,x-scope=a b,, "),
                        "api-key: k1\nx-scope: a b");
    assert_string_equal(given("Authorization=Basic YTpi=="),
                        "Authorization: Basic YTpi==");
    assert_string_equal(given(NULL), "");
    assert_string_equal(given(" , "), "");
}

static void otlp_headers_have_percent_encoded_values(void **state)
{
    (void)state;
    assert_string_equal(given("Authorization=Bearer%20a%2Cb%3d%25"),
                        "Authorization: Bearer a,b=%");
    assert_string_equal(given("a=1+2"), "a: 1+2");
}

static void otlp_headers_that_could_break_a_request_are_refused(void **state)
{
    static const char value[] = "!a value in it is none that a header can have";
    static const char name[] = "!a name in it is none that a header can have";
    (void)state;
    assert_string_equal(given("a=x%0d%0aX-Evil: 1"), value);
    assert_string_equal(given("a=x\r\nX-Evil: 1"), value);
    assert_string_equal(given("a=%00"), value);
    assert_string_equal(given("a=%"), value);
    assert_string_equal(given("a=%4"), value);
    assert_string_equal(given("a=%4g"), value);
    assert_string_equal(given("a=\xc3\xa4"), value);
    assert_string_equal(given("a="), value);
    assert_string_equal(given("=x"), name);
    assert_string_equal(given("a b=x"), name);
    assert_string_equal(given("a:=x"), name);
    assert_string_equal(given("good=1,bad"), "!a pair in it has no '='");
    assert_string_equal(given("Content-Length=5"),
                        "!it names a header that the request needs for itself");
}

static void otlp_headers_are_bounded(void **state)
{
    char *list = malloc(OTLP_HEADERS_MAX_BYTES + 2);
    (void)state;
    assert_non_null(list);
    memset(list, 'x', OTLP_HEADERS_MAX_BYTES + 1);
    memcpy(list, "a=", 2);
    list[OTLP_HEADERS_MAX_BYTES + 1] = 0;
    bool refused = strcmp(given(list), "!it is too long") == 0;
    list[OTLP_HEADERS_MAX_BYTES] = 0;
    bool taken = strncmp(given(list), "a: xxx", 6) == 0;
    free(list);
    assert_true(refused);
    assert_true(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(otlp_headers_are_a_line_each),
        cmocka_unit_test(otlp_headers_have_percent_encoded_values),
        cmocka_unit_test(otlp_headers_that_could_break_a_request_are_refused),
        cmocka_unit_test(otlp_headers_are_bounded),
    };
    return cmocka_run_group_tests_name("upload/otlp_headers", tests, NULL, NULL);
}
