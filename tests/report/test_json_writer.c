// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

// written compares what w holds with wanted and frees it.
static void written(struct json_writer *w, const char *wanted)
{
    char seen[512];
    enum ch_status status = json_writer_finish(w);
    snprintf(seen, sizeof(seen), "%s", w->text.bytes);
    json_writer_deinit(w);
    assert_int_equal(status, CH_OK);
    assert_string_equal(seen, wanted);
}

static void json_writer_puts_commas_where_they_belong(void **state)
{
    (void)state;
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_object(&w);
    json_write_key(&w, "a");
    json_write_array(&w);
    json_write_int(&w, -1);
    json_write_uint(&w, 9223372036854775807u);
    json_write_object(&w);
    json_write_end(&w, '}');
    json_write_end(&w, ']');
    json_write_key(&w, "b");
    json_write_hex(&w, 0x1f);
    json_write_key(&w, "c");
    json_write_bool(&w, false);
    json_write_key(&w, "d");
    json_write_string(&w, NULL);
    json_write_end(&w, '}');
    written(
        &w,
        "{\"a\":[-1,9223372036854775807,{}],\"b\":\"0x1f\",\"c\":false,\"d\":null}");
}

static void json_writer_limits_numbers_to_what_readers_take(void **state)
{
    (void)state;
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_uint(&w, UINT64_MAX);
    written(&w, "9223372036854775807");
}

static void json_writer_escapes_what_json_forbids(void **state)
{
    (void)state;
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_bytes(&w, "a\"b\\c\n\x1b\0d\x7f", 10);
    written(&w, "\"a\\\"b\\\\c\\u000a\\u001b\\u0000d\\u007f\"");
}

static void json_writer_replaces_what_is_not_utf_8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *wanted;
    } cases[] = {
        { "gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"" },
        { "\xf0\x9f\x92\xa5", "\"\xf0\x9f\x92\xa5\"" },
        { "a\xff"
          "b",
          "\"a\xef\xbf\xbd"
          "b\"" },
        { "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },                 // overlong
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, // surrogate
        { "\xf4\x90\x80\x80",
          "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, // past U+10FFFF
        { "cut \xe2\x82", "\"cut \xef\xbf\xbd\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_writer w;
        json_writer_init(&w, -1);
        json_write_string(&w, cases[i].bytes);
        written(&w, cases[i].wanted);
    }
}

static void json_writer_streams_more_than_its_buffer(void **state)
{
    (void)state;
    char path[] = "/tmp/json_writer.XXXXXX";
    int fd = mkstemp(path);
    struct json_writer w;
    json_writer_init(&w, fd);
    json_write_array(&w);
    for (unsigned i = 0; i < 100000; i++)
        json_write_uint(&w, 1234567);
    json_write_end(&w, ']');
    uint64_t told = json_writer_size(&w);
    enum ch_status status = json_writer_finish(&w);
    size_t held = w.text.capacity;
    json_writer_deinit(&w);
    off_t size = lseek(fd, 0, SEEK_END);
    close(fd);
    unlink(path);
    assert_int_equal(status, CH_OK);
    assert_int_equal(size, 800001);
    assert_int_equal(told, 800001);
    assert_int_equal(held, 0);
}

static void json_writer_says_why_a_write_failed(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct json_writer w;
    json_writer_init(&w, fd);
    json_write_string(&w, "does not fit");
    enum ch_status status = json_writer_finish(&w);
    int error = errno;
    json_writer_deinit(&w);
    close(fd);
    assert_int_equal(status, CH_ERR_IO);
    assert_int_equal(error, ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_writer_puts_commas_where_they_belong),
        cmocka_unit_test(json_writer_limits_numbers_to_what_readers_take),
        cmocka_unit_test(json_writer_escapes_what_json_forbids),
        cmocka_unit_test(json_writer_replaces_what_is_not_utf_8),
        cmocka_unit_test(json_writer_streams_more_than_its_buffer),
        cmocka_unit_test(json_writer_says_why_a_write_failed),
    };
    return cmocka_run_group_tests_name("report/json_writer", tests, NULL, NULL);
}
