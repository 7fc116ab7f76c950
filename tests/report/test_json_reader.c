// SPDX-License-Identifier: Apache-2.0
#include "report/json_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// What jansson reads and what it does not; some of it beyond what the reader is for.
static const char *const documents[] = {
    "{}",
    "[]",
    " {\t\"a\" : [ 1 , 2 ]\r\n} ",
    "{\"frames\":[{\"a\":1},{\"a\":1},{\"a\":2},{\"a\":1}]}",
    "{\"frames\":[{\"a\":\"}\"},{\"a\":\"}\"},{\"a\":{\"b\":1}},{\"a\":{\"b\":1}}]}",
    "[0,-1,10,01,-0,1.5,1e3,9223372036854775807,9223372036854775808,"
    "123456789012345678]",
    "[0,-1,10,-0,1.5,1e3,9223372036854775807,123456789012345678,1234567890123456789]",
    "[\"\",\"a\\nb\",\"\\u00fc\",\"\xc3\xbc\",\"\\\\\",\"\\\"\",\"\x7f\"]",
    "[\"\xff\"]",
    "[\"\\q\"]",
    "[\"\\",
    "[\"\\\"",
    "[\"a\nb\"]",
    "[true,false,null,[true],{\"a\":null}]",
    "[tru]",
    "[truefalse]",
    "[true false]",
    "[1,]",
    "[,1]",
    "[1",
    "{\"a\":1,}",
    "{\"a\"}",
    "{\"a\":1,\"a\":2}",
    "{\"\\u0061\":1}",
    "{\"a\":1}}",
    "{\"a\":1]",
    "[1}",
    "{} {}",
    "1",
    "",
    "[-]",
    "[+1]",
    "[.5]",
    "[1.]",
    "{\"frames\":{\"frames\":[[{\"a\":1},{\"a\":1}]]}}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]"
    "]]]]]]]]"
    "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
};

// agrees is whether the reader reads nothing, or what jansson reads.
static bool agrees(const char *bytes, size_t size)
{
    json_t *ours = json_reader_read(bytes, size);
    json_t *theirs = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    bool same = ours == NULL || (theirs != NULL && json_equal(ours, theirs) == 1);
    json_decref(ours);
    json_decref(theirs);
    return same;
}

static void json_reader_reads_what_jansson_reads_or_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        if (!agrees(documents[i], strlen(documents[i])))
            fail_msg("%s", documents[i]);
}

// agrees_changed is whether that holds with the byte at `at` changed to any of some.
static bool agrees_changed(const char *document, size_t at)
{
    static const char bytes[] = "{}[]\",:\\0-1.eE tn\x01\x80u";
    char copy[512];
    size_t size = strlen(document);
    bool same = true;
    for (size_t b = 0; b < sizeof(bytes); b++) {
        memcpy(copy, document, size);
        copy[at] = bytes[b];
        same = same && agrees(copy, size);
    }
    return same;
}

static void json_reader_agrees_on_documents_with_a_byte_changed_or_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        for (size_t at = 0; at < strlen(documents[i]); at++)
            if (!agrees(documents[i], at) || !agrees_changed(documents[i], at))
                fail_msg("%s, byte %zu", documents[i], at);
    }
}

static void json_reader_does_not_leave_reports_to_jansson(void **state)
{
    (void)state;
    static const char report[] =
        "{\"schema\":\"crashhook.report/1\",\"tags\":{},\"time\":-1,\"message\":\"a "
        "\\\"b\\\" \xe2\x82\xac\",\"threads\":[{\"tid\":7,\"crashed\":true,"
        "\"backtrace\":{\"frames\":[]}}]}\n";
    json_t *read = json_reader_read(report, sizeof(report) - 1);
    json_decref(read);
    assert_non_null(read);
}

static void json_reader_makes_equal_frames_one_value(void **state)
{
    (void)state;
    static const char text[] = "[{\"frames\":[{\"a\":1},{\"a\":2}]},"
                               "{\"frames\":[{\"a\":1},{\"a\": 1}],\"b\":[{\"a\":1}]}]";
    json_t *read = json_reader_read(text, sizeof(text) - 1);
    const json_t *first = json_object_get(json_array_get(read, 0), "frames");
    const json_t *second = json_object_get(json_array_get(read, 1), "frames");
    const json_t *other = json_object_get(json_array_get(read, 1), "b");
    const json_t *shared = json_array_get(first, 0);
    bool right = shared != NULL && shared == json_array_get(second, 0) &&
                 shared != json_array_get(first, 1) &&
                 shared != json_array_get(second, 1) &&
                 shared != json_array_get(other, 0);
    json_decref(read);
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_reader_reads_what_jansson_reads_or_nothing),
        cmocka_unit_test(json_reader_agrees_on_documents_with_a_byte_changed_or_cut),
        cmocka_unit_test(json_reader_does_not_leave_reports_to_jansson),
        cmocka_unit_test(json_reader_makes_equal_frames_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
