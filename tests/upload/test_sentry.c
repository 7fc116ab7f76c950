// SPDX-License-Identifier: Apache-2.0
#include "upload/sentry.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static bool limits_are(const char *value, int64_t events_s, int64_t attachments_s)
{
    const struct sentry_limits limits = sentry_limits_parse(value);
    return limits.events_s == events_s && limits.attachments_s == attachments_s;
}

static void limits_are_kept_by_category(void **state)
{
    (void)state;
    assert_true(limits_are("60:error:organization", 60, -1));
    assert_true(limits_are("60:default;error:project:spike", 60, -1));
    assert_true(limits_are("7:attachment:key", -1, 7));
    assert_true(limits_are("60:error:key, 2700:attachment:key", 60, 2700));
}

static void limits_without_a_category_are_on_everything(void **state)
{
    (void)state;
    assert_true(limits_are("60::organization", 60, 60));
    assert_true(limits_are("60:", 60, 60));
    assert_true(limits_are("60:;transaction:key", 60, 60));
}

static void limits_that_overlap_last_as_long_as_the_longest(void **state)
{
    (void)state;
    assert_true(limits_are("60:error:key,30::key,90:error;attachment:x", 90, 90));
    assert_true(limits_are("1.75:error:key", 1, -1));
    assert_true(limits_are("99999999999999999999999:error:key", 86400, -1));
}

static void limits_on_what_we_do_not_send_are_passed_over(void **state)
{
    (void)state;
    static const char *const others[] = {
        "60:transaction:key",     "60:errors:key", "60:erro",
        "60:transaction;session", "60:a,",         ""
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_true(limits_are(others[i], -1, -1));
    assert_true(limits_are(NULL, -1, -1));
}

static void limits_that_make_no_sense_do_not_hide_others(void **state)
{
    (void)state;
    static const char *const broken[] = { "x",  "60",      "-3:error:key",
                                          ",,", ":error:", " " };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char value[64];
        (void)snprintf(value, sizeof(value), "%s, 5:error:key", broken[i]);
        assert_true(limits_are(value, 5, -1));
    }
}

// Each prefix lies in an allocation of its own size, so that a read past it is seen.
static void limits_survive_every_truncation(void **state)
{
    (void)state;
    static const char whole[] = "60.5:error;attachment:organization:x, 9::key";
    int64_t longest = 0;
    for (size_t size = 0; size < sizeof(whole); size++) {
        char *prefix = strndup(whole, size);
        struct sentry_limits limits = sentry_limits_parse(prefix);
        free(prefix);
        longest = limits.events_s > longest ? limits.events_s : longest;
    }
    assert_int_equal(longest, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_kept_by_category),
        cmocka_unit_test(limits_without_a_category_are_on_everything),
        cmocka_unit_test(limits_that_overlap_last_as_long_as_the_longest),
        cmocka_unit_test(limits_on_what_we_do_not_send_are_passed_over),
        cmocka_unit_test(limits_that_make_no_sense_do_not_hide_others),
        cmocka_unit_test(limits_survive_every_truncation),
    };
    return cmocka_run_group_tests_name("upload/sentry", tests, NULL, NULL);
}
