// SPDX-License-Identifier: Apache-2.0

#include "support/bytes.h"
#include "support/test.h"
#include "upload/bodies/protobuf_json.h"

// A response: partial_success (1) with rejected_log_records (1) = 300 and error_message
// (2) = "no room", and a field that nobody knows (9, fixed32).
static const uint8_t response[] =
    "\x0a\x0c\x08\xac\x02\x12\x07no room\x4d\x01\x02\x03\x04";
static const uint8_t refusal[] = "\x08\x03\x12\x03why\x1a\x00";

enum { RESPONSE_SIZE = sizeof(response) - 1, REFUSAL_SIZE = sizeof(refusal) - 1 };

static void response_becomes_the_one_of_json(void **state)
{
    (void)state;
    json_t *answer = otlp_protobuf_response(response, RESPONSE_SIZE);
    char *text = json_dumps(answer, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(answer);
    assert_string_equal(text, "{\"partialSuccess\":{\"errorMessage\":\"no room\","
                              "\"rejectedLogRecords\":300}}");
    free(text);
    answer = otlp_protobuf_response("", 0);
    assert_int_equal(json_object_size(json_object_get(answer, "partialSuccess")), 0);
    json_decref(answer);
}

static void refusal_becomes_the_one_of_json(void **state)
{
    (void)state;
    json_t *answer = otlp_protobuf_status(refusal, REFUSAL_SIZE);
    assert_string_equal(json_string_value(json_object_get(answer, "message")), "why");
    json_decref(answer);
}

static void words_that_are_no_utf8_are_left_out(void **state)
{
    (void)state;
    json_t *answer = otlp_protobuf_status("\x12\x01\xff", 3);
    assert_non_null(answer);
    assert_null(json_object_get(answer, "message"));
    json_decref(answer);
}

static int read_both(const uint8_t *bytes, size_t size, void *context)
{
    size_t *refused = context;
    json_t *first = otlp_protobuf_response(bytes, size);
    json_t *second = otlp_protobuf_status(bytes, size);
    *refused += first == NULL;
    json_decref(first);
    json_decref(second);
    return 0;
}

static void damaged_answers_are_survived_and_cut_ones_refused(void **state)
{
    (void)state;
    size_t refused = 0;
    assert_int_equal(bytes_cut_everywhere(response, RESPONSE_SIZE, read_both, &refused),
                     0);
    // All but the empty one, and the one that ends after the first field.
    assert_int_equal(refused, RESPONSE_SIZE - 2);
    assert_int_equal(bytes_flip_every_bit(response, RESPONSE_SIZE, read_both, &refused),
                     0);
    static const uint8_t endless[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_null(otlp_protobuf_response(endless, sizeof(endless) - 1));
    static const uint8_t huge[] = "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    assert_null(otlp_protobuf_response(huge, sizeof(huge) - 1));
}

static void request_with_a_member_that_is_not_known_is_refused(void **state)
{
    (void)state;
    struct text out = { 0 };
    json_t *request = json_pack("{s:[{s:{s:[]}, s:i}]}", "resourceLogs", "resource",
                                "attributes", "novelty", 1);
    assert_int_equal(otlp_protobuf_write(request, &out), CH_ERR_MALFORMED);
    json_decref(request);
    text_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(response_becomes_the_one_of_json),
        cmocka_unit_test(refusal_becomes_the_one_of_json),
        cmocka_unit_test(words_that_are_no_utf8_are_left_out),
        cmocka_unit_test(damaged_answers_are_survived_and_cut_ones_refused),
        cmocka_unit_test(request_with_a_member_that_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
