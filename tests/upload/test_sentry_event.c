// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_event.h"

#include "support/test.h"

// What the event holds is read and checked by bodies.py, in the tests of the targets.

static const char *debug_id_of(const char *build_id)
{
    static char debug_id[SENTRY_DEBUG_ID_SIZE];
    return sentry_event_debug_id(build_id, debug_id) == CH_OK ? debug_id : NULL;
}

static void debug_id_is_the_build_id_as_a_little_endian_guid(void **state)
{
    (void)state;
    assert_string_equal(debug_id_of("68220ae2c65d65c1b6aaa12fa6765a6ec2f5f434"),
                        "e20a2268-5dc6-c165-b6aa-a12fa6765a6e");
    assert_string_equal(debug_id_of("f1c3bcc0279865fe3058404b2831d9e64135386c"),
                        "c0bcc3f1-9827-fe65-3058-404b2831d9e6");
}

static void debug_id_of_a_short_build_id_is_padded(void **state)
{
    (void)state;
    assert_string_equal(debug_id_of("0123456789abcdef"),
                        "67452301-ab89-efcd-0000-000000000000");
    assert_string_equal(debug_id_of("ff"), "000000ff-0000-0000-0000-000000000000");
}

static void debug_id_of_what_is_no_build_id_is_none(void **state)
{
    (void)state;
    char longest[131];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_null(debug_id_of(""));
    assert_null(debug_id_of("abc"));
    assert_null(debug_id_of("not hex!"));
    assert_null(debug_id_of(longest));
}

static void event_id_is_the_reports_without_dashes(void **state)
{
    (void)state;
    char id[SENTRY_EVENT_ID_SIZE];
    sentry_event_id("01928374-5566-7788-99aa-bbccddeeff00", id);
    assert_string_equal(id, "019283745566778899aabbccddeeff00");
    sentry_event_id("0123456789012345678901234567890123456789", id);
    assert_int_equal(strlen(id), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_id_is_the_build_id_as_a_little_endian_guid),
        cmocka_unit_test(debug_id_of_a_short_build_id_is_padded),
        cmocka_unit_test(debug_id_of_what_is_no_build_id_is_none),
        cmocka_unit_test(event_id_is_the_reports_without_dashes),
    };
    return cmocka_run_group_tests_name("upload/sentry_event", tests, NULL, NULL);
}
