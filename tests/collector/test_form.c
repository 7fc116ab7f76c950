// SPDX-License-Identifier: Apache-2.0
#include "collector/server/form.h"

#include <stdio.h>

#include "support/test.h"

// read gives a field's value of a form that body is; NULL where it is refused.
static const char *read_field(struct text *body, const char *sent, const char *name)
{
    static char value[64];
    struct form form;
    text_clear(body);
    text_append_string(body, sent);
    if (form_read(body, &form) != CH_OK || form_value(&form, name) == NULL)
        return NULL;
    (void)snprintf(value, sizeof(value), "%s", form_value(&form, name));
    return value;
}

static void a_form_gives_what_was_typed(void **state)
{
    (void)state;
    struct text body = { 0 };
    assert_string_equal(
        read_field(&body, "a=1&note=it%27s+%C3%A9%0D%0Ab%26c%3d", "note"),
        "it's \xc3\xa9\nb&c=");
    assert_string_equal(read_field(&body, "a=&b=x", "a"), "");
    assert_string_equal(read_field(&body, "a=1&a=2", "a"), "1");
    assert_null(read_field(&body, "a=1", "b"));
    text_deinit(&body);
}

static void what_is_no_form_is_refused(void **state)
{
    (void)state;
    struct text body = { 0 };
    static const char *const wrong[] = { "a=%",   "a=%4",  "a=%4g", "a=%00",
                                         "a=%ff", "a&b=1", "%ff=1" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(read_field(&body, wrong[i], "a"));
    text_clear(&body);
    for (int i = 0; i <= FORM_FIELDS; i++)
        text_append_string(&body, i == 0 ? "a=1" : "&a=");
    struct form many;
    assert_int_equal(form_read(&body, &many), CH_ERR_LIMIT);
    text_clear(&body);
    text_append(&body, "a=1\0b", 5);
    struct form form;
    assert_int_equal(form_read(&body, &form), CH_ERR_MALFORMED);
    text_deinit(&body);
    assert_int_equal(form_read(&body, &form), CH_OK); // nothing was sent
    assert_int_equal(form.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_gives_what_was_typed),
        cmocka_unit_test(what_is_no_form_is_refused),
    };
    return cmocka_run_group_tests_name("collector/form", tests, NULL, NULL);
}
