// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    struct text text = { 0 };
    for (int i = 0; i < 1000; i++)
        text_appendf(&text, "%d,", i % 10);
    bool ok = text_ok(&text) && text.size == 2000 && text.bytes[2000] == 0;
    text_deinit(&text);
    assert_true(ok);
}

static void text_keeps_its_limit_and_stays_failed(void **state)
{
    (void)state;
    struct text text = { .limit_bytes = 5 };
    text_append_string(&text, "12345");
    bool fitted = text_ok(&text);
    text_append_string(&text, "6");
    bool failed = !text_ok(&text);
    size_t size = text.size;
    text_deinit(&text);
    assert_true(fitted);
    assert_true(failed);
    assert_int_equal(size, 5);
}

// read_ten reads a file of ten bytes, at most limit of them.
static enum ch_status read_ten(size_t limit, struct text *out)
{
    char path[] = "/tmp/crashhook-text-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || unlink(path) != 0 || write(fd, "0123456789", 10) != 10 ||
        lseek(fd, 0, SEEK_SET) != 0)
        abort();
    enum ch_status status = text_read(out, fd, limit);
    close(fd);
    return status;
}

static void text_reads_a_file_to_its_end(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_append_string(&text, "<");
    enum ch_status status = read_ten(10, &text);
    bool same = text.size == 11 && strcmp(text.bytes, "<0123456789") == 0;
    text_deinit(&text);
    assert_int_equal(status, CH_OK);
    assert_true(same);
}

static void text_keeps_the_first_bytes_of_a_file_that_has_more(void **state)
{
    (void)state;
    struct text text = { 0 };
    enum ch_status status = read_ten(9, &text);
    bool same = text.size == 9 && strcmp(text.bytes, "012345678") == 0;
    text_deinit(&text);
    assert_int_equal(status, CH_ERR_LIMIT);
    assert_true(same);
}

static void text_says_that_what_it_reads_goes_past_its_own_limit(void **state)
{
    (void)state;
    struct text text = { .limit_bytes = 9 };
    enum ch_status status = read_ten(10, &text);
    text_deinit(&text);
    assert_int_equal(status, CH_ERR_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(text_keeps_its_limit_and_stays_failed),
        cmocka_unit_test(text_reads_a_file_to_its_end),
        cmocka_unit_test(text_keeps_the_first_bytes_of_a_file_that_has_more),
        cmocka_unit_test(text_says_that_what_it_reads_goes_past_its_own_limit),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
