// SPDX-License-Identifier: Apache-2.0
#include "collector/server/http_call.h"

#include <string.h>

#include "support/test.h"

// doubt_of is what is in doubt of a head with one field more than its host.
static const char *doubt_of(const char *key, const char *value, const char *version)
{
    struct http_head head = { 0 };
    http_head_add(&head, "Host", 4, "127.0.0.1", 9);
    http_head_add(&head, "content-length", 14, "12", 2);
    http_head_add(&head, key, strlen(key), value, strlen(value));
    return http_head_doubt(&head, version);
}

static void a_plain_head_leaves_no_doubt(void **state)
{
    (void)state;
    assert_null(doubt_of("Accept", "a,\tb; q=0.5", "HTTP/1.1"));
    assert_null(doubt_of("X-Utf8", "\xc3\xa9", "HTTP/1.0"));
}

static void a_head_says_once_where_its_body_ends(void **state)
{
    (void)state;
    assert_non_null(doubt_of("Content-Length", "12", "HTTP/1.1"));
    assert_non_null(doubt_of("CONTENT-LENGTH", "13", "HTTP/1.1"));
    assert_non_null(doubt_of("Transfer-Encoding", "chunked", "HTTP/1.1"));
}

static void a_head_has_one_host(void **state)
{
    (void)state;
    struct http_head none = { 0 };
    assert_non_null(doubt_of("host", "elsewhere", "HTTP/1.1"));
    assert_non_null(http_head_doubt(&none, "HTTP/1.1"));
    assert_null(http_head_doubt(&none, "HTTP/1.0"));
}

static void lengths_and_codings_have_one_form(void **state)
{
    static const char *const lengths[] = { "", "+1", "-1", "0x1", "1,1", "1 ", "1\r" };
    static const char *const codings[] = { "gzip", "xchunked", "chunked, chunked", "" };
    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct http_head head = { .hosts = 1 };
        http_head_add(&head, "Content-Length", 14, lengths[i], strlen(lengths[i]));
        assert_non_null(http_head_doubt(&head, "HTTP/1.1"));
    }
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        struct http_head head = { .hosts = 1 };
        http_head_add(&head, "Transfer-Encoding", 17, codings[i], strlen(codings[i]));
        assert_non_null(http_head_doubt(&head, "HTTP/1.1"));
    }
}

static void chunks_are_of_version_1_1(void **state)
{
    (void)state;
    struct http_head head = { .hosts = 1 };
    http_head_add(&head, "Transfer-Encoding", 17, "Chunked", 7);
    assert_null(http_head_doubt(&head, "HTTP/1.1"));
    assert_non_null(http_head_doubt(&head, "HTTP/1.0"));
}

static void names_and_values_have_no_stray_characters(void **state)
{
    (void)state;
    assert_non_null(doubt_of("Content-Length ", "1", "HTTP/1.1"));
    assert_non_null(doubt_of("", "1", "HTTP/1.1"));
    assert_non_null(doubt_of("X:Y", "1", "HTTP/1.1"));
    assert_non_null(doubt_of("X", "a\r\nY: b", "HTTP/1.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_head_leaves_no_doubt),
        cmocka_unit_test(a_head_says_once_where_its_body_ends),
        cmocka_unit_test(a_head_has_one_host),
        cmocka_unit_test(lengths_and_codings_have_one_form),
        cmocka_unit_test(chunks_are_of_version_1_1),
        cmocka_unit_test(names_and_values_have_no_stray_characters),
    };
    return cmocka_run_group_tests_name("collector/http_head", tests, NULL, NULL);
}
