// SPDX-License-Identifier: Apache-2.0
#include "report/json/tree_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static const char sample[] =
    "{\"a\":[1,-1,63,64,-64,-65,9223372036854775807,-9223372036854775808],"
    "\"b\":{\"a\":\"a\",\"\":\"\",\"long\":\"a string of more than eight bytes\"},"
    "\"c\":[true,false,null,1.5,[],{}],\"d\":\"\\u0000\\u00e9\",\"e\":\"a\"}";

static json_t *parsed(const char *text)
{
    return json_loads(text, JSON_ALLOW_NUL, NULL);
}

// comes_back checks that the tree is the same after its bytes, and frees it.
static void comes_back(json_t *tree)
{
    struct text bytes = { 0 };
    json_t *again = NULL;
    enum ch_status written = tree_bytes_write(tree, &bytes);
    enum ch_status read = tree_bytes_read(bytes.bytes, bytes.size, &again);
    bool same = json_equal(tree, again) == 1;
    json_decref(tree);
    json_decref(again);
    text_deinit(&bytes);
    assert_int_equal(written, CH_OK);
    assert_int_equal(read, CH_OK);
    assert_true(same);
}

static void a_tree_is_the_same_after_its_bytes(void **state)
{
    (void)state;
    comes_back(parsed(sample));
}

static void a_string_that_comes_again_takes_two_bytes(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    json_t *tree = parsed("[\"the same string\",\"the same string\"]");
    enum ch_status written = tree_bytes_write(tree, &bytes);
    size_t size = bytes.size;
    json_decref(tree);
    text_deinit(&bytes);
    assert_int_equal(written, CH_OK);
    assert_int_equal(size, 2 + strlen("the same string") + 2 + 2);
}

static void more_strings_than_the_first_table_holds_come_back(void **state)
{
    (void)state;
    json_t *tree = json_array();
    for (int i = 0; i < 5000; i++)
        json_array_append_new(tree, json_sprintf("%d", i % 3000));
    comes_back(tree);
}

// refused reads bytes and gives the status, freeing a tree that there should not be.
static enum ch_status refused(const void *bytes, size_t size)
{
    json_t *tree = NULL;
    enum ch_status status = tree_bytes_read(bytes, size, &tree);
    json_decref(tree);
    return status;
}

// Each prefix has an allocation of its size, so that a sanitizer sees a read past it.
static void a_tree_that_is_cut_is_refused_at_every_byte(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    json_t *tree = parsed(sample);
    enum ch_status written = tree_bytes_write(tree, &bytes);
    size_t accepted = 0;
    for (size_t size = 0; size < bytes.size; size++) {
        void *prefix = malloc(size);
        memcpy(prefix, bytes.bytes, size);
        // The first string alone is a tree, too.
        accepted += refused(prefix, size) == CH_OK;
        free(prefix);
    }
    json_decref(tree);
    text_deinit(&bytes);
    assert_int_equal(written, CH_OK);
    assert_int_equal(accepted, 1);
}

static void what_is_no_tree_is_refused(void **state)
{
    (void)state;
    static const uint8_t unknown[] = { 9 };
    static const uint8_t no_such_string[] = { 6, 0 };
    static const uint8_t not_utf8[] = { 5, 1, 0xff };
    static const uint8_t too_few[] = { 0, 7, 2 };             // null, an array of two
    static const uint8_t key_is_no_string[] = { 0, 0, 8, 1 }; // {null: null}
    static const uint8_t two[] = { 0, 0 };
    assert_int_equal(refused(unknown, sizeof(unknown)), CH_ERR_MALFORMED);
    assert_int_equal(refused(no_such_string, sizeof(no_such_string)), CH_ERR_MALFORMED);
    assert_int_equal(refused(not_utf8, sizeof(not_utf8)), CH_ERR_MALFORMED);
    assert_int_equal(refused(too_few, sizeof(too_few)), CH_ERR_MALFORMED);
    assert_int_equal(refused(key_is_no_string, sizeof(key_is_no_string)),
                     CH_ERR_MALFORMED);
    assert_int_equal(refused(two, sizeof(two)), CH_ERR_MALFORMED);
    assert_int_equal(refused("", 0), CH_ERR_TRUNCATED);
}

static void a_tree_that_is_too_deep_is_refused(void **state)
{
    (void)state;
    size_t size = 1 + 2 * ((size_t)TREE_BYTES_DEPTH_MAX + 1);
    uint8_t *bytes = calloc(1, size);
    for (size_t at = 1; at < size; at += 2) {
        bytes[at] = 7; // an array of the one value before
        bytes[at + 1] = 1;
    }
    enum ch_status at_limit = refused(bytes, size - 2);
    enum ch_status past_limit = refused(bytes, size);
    free(bytes);
    assert_int_equal(at_limit, CH_OK);
    assert_int_equal(past_limit, CH_ERR_LIMIT);
}

static void a_tree_of_too_many_values_is_refused(void **state)
{
    (void)state;
    size_t size = (size_t)TREE_BYTES_VALUES_MAX + 1;
    uint8_t *bytes = calloc(1, size);
    enum ch_status status = refused(bytes, size);
    free(bytes);
    assert_int_equal(status, CH_ERR_LIMIT);
}

static void what_several_places_hold_comes_back_as_one(void **state)
{
    (void)state;
    struct text bytes = { 0 };
    json_t *tree = json_array();
    json_t *shared = parsed("{\"a\":[1,2,3]}");
    json_t *again = NULL;
    for (int i = 0; i < 300; i++)
        json_array_append(tree, shared);
    json_array_append_new(tree, json_pack("[O]", json_object_get(shared, "a")));
    enum ch_status written = tree_bytes_write(tree, &bytes);
    enum ch_status read = tree_bytes_read(bytes.bytes, bytes.size, &again);
    bool same = json_equal(tree, again) == 1;
    json_t *first = json_array_get(again, 0);
    bool one =
        first == json_array_get(again, 299) &&
        json_object_get(first, "a") == json_array_get(json_array_get(again, 300), 0);
    size_t size = bytes.size;
    json_decref(shared);
    json_decref(tree);
    json_decref(again);
    text_deinit(&bytes);
    assert_int_equal(written, CH_OK);
    assert_int_equal(read, CH_OK);
    assert_true(same);
    assert_true(one);
    assert_true(size < 1000);
}

static void no_number_and_no_array_before_it_are_refused(void **state)
{
    (void)state;
    static const uint8_t nothing_kept[] = { 10, 0 };
    static const uint8_t keeps_nothing[] = { 9 };
    static const uint8_t keeps_null[] = { 0, 9 };
    static const uint8_t no_number[] = { 7, 0, 9, 10 };
    assert_int_equal(refused(nothing_kept, sizeof(nothing_kept)), CH_ERR_MALFORMED);
    assert_int_equal(refused(keeps_nothing, sizeof(keeps_nothing)), CH_ERR_MALFORMED);
    assert_int_equal(refused(keeps_null, sizeof(keeps_null)), CH_ERR_MALFORMED);
    assert_int_equal(refused(no_number, sizeof(no_number)), CH_ERR_MALFORMED);
}

// Each array holds the one before twice, so that a few bytes would be a walk without
// end.
static void values_that_multiply_are_refused(void **state)
{
    (void)state;
    enum { ROUNDS = 40, ROUND_BYTES = 5 };
    uint8_t bytes[3 + ROUNDS * ROUND_BYTES] = { 7, 0, 9 };
    for (uint8_t i = 0; i < ROUNDS; i++) {
        const uint8_t round[ROUND_BYTES] = { 10, i, 7, 2, 9 };
        memcpy(bytes + 3 + (size_t)i * ROUND_BYTES, round, sizeof(round));
    }
    assert_int_equal(refused(bytes, 3 + 10 * ROUND_BYTES), CH_OK);
    assert_int_equal(refused(bytes, sizeof(bytes)), CH_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_the_same_after_its_bytes),
        cmocka_unit_test(a_string_that_comes_again_takes_two_bytes),
        cmocka_unit_test(more_strings_than_the_first_table_holds_come_back),
        cmocka_unit_test(a_tree_that_is_cut_is_refused_at_every_byte),
        cmocka_unit_test(what_is_no_tree_is_refused),
        cmocka_unit_test(a_tree_that_is_too_deep_is_refused),
        cmocka_unit_test(a_tree_of_too_many_values_is_refused),
        cmocka_unit_test(what_several_places_hold_comes_back_as_one),
        cmocka_unit_test(no_number_and_no_array_before_it_are_refused),
        cmocka_unit_test(values_that_multiply_are_refused),
    };
    return cmocka_run_group_tests_name("report/tree_bytes", tests, NULL, NULL);
}
