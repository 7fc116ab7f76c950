// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// DEEP is more arrays in one another than the reader takes; jansson takes them.
enum { DEEP = 2 * JSON_READER_DEPTH };

static const char *const documents[] = {
    "{}",
    "[]",
    " {\t\"a\" : [ 1 , 2 ]\r\n} ",
    "[0,-1,10,-0,1.5,1e3,9223372036854775807,123456789012345678,1234567890123456789]",
    "[9223372036854775808]",
    "[01]",
    "[-]",
    "[1-2]",
    "[+1]",
    "[.5]",
    "[1.]",
    "[\"\",\"a\\nb\",\"\\u00fc\",\"\xc3\xbc\",\"\\\\\",\"\\\"\",\"\x7f\"]",
    "[\"\xff\"]",
    "[\"\xe2\x82\"]",
    "[\"\\q\"]",
    "[\"\\u0000\"]",
    "[\"\\ud800\"]",
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
    "{\"\":{\"\":1}}",
    "{\"a\":1,\"a\":2}",
    "{\"\\u0061\":1,\"a\":2}",
    "{\"a\":1}}",
    "{\"a\":1]",
    "[1}",
    "{} {}",
    "1",
    "",
};

// agrees is true where the reader reads what jansson reads, and refuses what it does
// not.
static bool agrees(const char *bytes, size_t size)
{
    json_error_t why;
    json_t *ours = json_reader_read(bytes, size, &why);
    json_t *theirs = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    bool same = ours == NULL ? theirs == NULL : json_equal(ours, theirs) == 1;
    json_decref(ours);
    json_decref(theirs);
    return same;
}

static void json_reader_reads_what_jansson_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        if (!agrees(documents[i], strlen(documents[i])))
            fail_msg("%s", documents[i]);
}

// agrees_changed returns true if that holds with any of some bytes at `at`.
static bool agrees_changed(const char *document, size_t at)
{
    static const char bytes[] = "{}[]\",:\\0-1.eE tn\x01\x80u";
    char copy[128];
    size_t size = strlen(document);
    bool same = size < sizeof(copy);
    for (size_t i = 0; same && i < sizeof(bytes); i++) {
        memcpy(copy, document, size);
        copy[at] = bytes[i];
        same = agrees(copy, size);
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

// agrees_on_bytes returns true if that holds of a string of that length with any byte
// at `at`.
static bool agrees_on_bytes(size_t length, size_t at)
{
    char document[32] = "[\"";
    bool same = length + 4 < sizeof(document);
    memset(document + 2, 'x', length);
    memcpy(document + 2 + length, "\"]", 2);
    for (int byte = 0; same && byte < 256; byte++) {
        document[2 + at] = (char)byte;
        same = agrees(document, length + 4);
    }
    return same;
}

static void json_reader_agrees_on_every_byte_at_every_place_of_a_string(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 20; length++)
        for (size_t at = 0; at < length; at++)
            if (!agrees_on_bytes(length, at))
                fail_msg("byte %zu of %zu", at, length);
}

static void json_reader_reads_past_its_depth_and_key_length(void **state)
{
    (void)state;
    char deep[2 * DEEP];
    char key[512] = "{\"";
    memset(deep, '[', DEEP);
    memset(deep + DEEP, ']', DEEP);
    memset(key + 2, 'k', 300);
    memcpy(key + 302, "\":1}", 5);
    assert_true(agrees(deep, sizeof(deep)));
    assert_true(agrees(deep, sizeof(deep) - 1));
    assert_true(agrees(key, strlen(key)));
}

static void json_reader_says_where_a_document_is_wrong(void **state)
{
    (void)state;
    json_error_t why;
    json_t *read = json_reader_read("{\"a\":1,\"a\":2}", 13, &why);
    json_decref(read);
    assert_null(read);
    assert_string_equal(why.text, "duplicate object key near '\"a\"'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_reader_reads_what_jansson_reads),
        cmocka_unit_test(json_reader_agrees_on_documents_with_a_byte_changed_or_cut),
        cmocka_unit_test(json_reader_agrees_on_every_byte_at_every_place_of_a_string),
        cmocka_unit_test(json_reader_reads_past_its_depth_and_key_length),
        cmocka_unit_test(json_reader_says_where_a_document_is_wrong),
    };
    return cmocka_run_group_tests_name("report/json_reader", tests, NULL, NULL);
}
