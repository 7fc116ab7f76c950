// SPDX-License-Identifier: Apache-2.0
#include "upload/protocol.h"

#include "support/test.h"

#define ID "01928374-5566-7788-99aa-bbccddeeff00"

static struct verdict judge(int status, const char *body)
{
    struct verdict verdict;
    struct http_reply reply = { .status = status, .retry_after_s = -1 };
    text_append_string(&reply.body, body);
    collector_judge(&reply, ID, &verdict);
    http_reply_deinit(&reply);
    return verdict;
}

static void collector_has_a_report_once_it_names_it(void **state)
{
    (void)state;
    assert_int_equal(judge(201, "{\"id\":\"" ID "\",\"group\":\"g\"}").state,
                     TARGET_SENT);
    assert_int_equal(judge(200, "{\"id\":\"" ID "\"}").state, TARGET_SENT);
    assert_int_equal(judge(200, "").state, TARGET_PENDING);
    assert_int_equal(judge(200, "[]").state, TARGET_PENDING);
    assert_int_equal(judge(204, "{\"id\":7}").state, TARGET_PENDING);
}

static void collector_trouble_is_the_targets_and_passes(void **state)
{
    (void)state;
    // A proxy answers 404 and 405 where there is no collector, and 400 where it is
    // asked for one in clear.
    static const int trouble[] = { 301, 302, 307, 400, 401, 403, 404,
                                   405, 407, 408, 410, 415, 421, 422,
                                   425, 429, 500, 502, 503, 599, 999 };
    for (size_t i = 0; i < sizeof(trouble) / sizeof(trouble[0]); i++) {
        struct verdict verdict = judge(trouble[i], "{}");
        assert_int_equal(verdict.state, TARGET_PENDING);
        assert_true(verdict.target_down);
        assert_string_not_equal(verdict.why, "");
    }
}

static void collector_refusals_are_the_reports_and_for_good(void **state)
{
    (void)state;
    static const int refusals[] = { 400, 404, 405, 410, 413, 415, 422 };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct verdict verdict = judge(refusals[i], "{\"error\":\"no\"}");
        assert_int_equal(verdict.state, TARGET_FAILED);
        assert_false(verdict.target_down);
    }
    assert_int_equal(judge(413, "<html>").state, TARGET_FAILED); // for a proxy, too
}

static void collector_words_become_one_plain_line(void **state)
{
    (void)state;
    struct verdict verdict = judge(400, "{\"error\":\"no\\n\\u001b[1mgo\\u00e9\"}");
    assert_string_equal(verdict.why, "it refused the report with 400: no??[1mgo??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collector_has_a_report_once_it_names_it),
        cmocka_unit_test(collector_trouble_is_the_targets_and_passes),
        cmocka_unit_test(collector_refusals_are_the_reports_and_for_good),
        cmocka_unit_test(collector_words_become_one_plain_line),
    };
    return cmocka_run_group_tests_name("upload/collector", tests, NULL, NULL);
}
