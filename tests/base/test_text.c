// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(text_keeps_its_limit_and_stays_failed),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
