// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// is_written_as_by_jansson returns true if both write text's tree so that it reads the
// same.
static bool is_written_as_by_jansson(const char *text)
{
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    json_t *tree = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    enum ch_status status = json_tree_write(tree, &written);
    char *wanted = json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *again = status == CH_OK ? json_loadb(written.bytes, written.size,
                                                 JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                                    : NULL;
    bool same = tree != NULL && again != NULL && json_equal(tree, again) &&
                written.size >= strlen(wanted);
    json_decref(again);
    json_decref(tree);
    free(wanted);
    return same;
}

static void json_tree_writes_every_kind_of_value(void **state)
{
    (void)state;
    assert_true(is_written_as_by_jansson("{}"));
    assert_true(is_written_as_by_jansson("[]"));
    assert_true(is_written_as_by_jansson("[[],{},[{}],{\"a\":[]}]"));
    assert_true(is_written_as_by_jansson("[1,-9223372036854775808,0.5,1e300,2.0]"));
    assert_true(is_written_as_by_jansson("{\"a\":true,\"b\":false,\"c\":null}"));
    assert_true(
        is_written_as_by_jansson("\"\\u0000\\n\\\"\\\\\\u007f\\u00fc\\u20ac\""));
    assert_true(is_written_as_by_jansson("{\"a \\\"quoted\\\" key\\n\":{\"\":1}}"));
}

static void json_tree_keeps_the_order_of_members(void **state)
{
    (void)state;
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    json_t *tree = json_loads("{\"z\": 1, \"a\": [ true, \"x\" ], \"m\": {}}", 0, NULL);
    text_append_string(&written, "> ");
    enum ch_status status = json_tree_write(tree, &written);
    json_decref(tree);
    bool right = strcmp(written.bytes, "> {\"z\":1,\"a\":[true,\"x\"],\"m\":{}}") == 0;
    text_deinit(&written);
    assert_int_equal(status, CH_OK);
    assert_true(right);
}

// write_deep writes arrays in each other.
static enum ch_status write_deep(size_t depth)
{
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    json_t *tree = json_array();
    for (size_t i = 1; i < depth; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, tree);
        tree = outer;
    }
    enum ch_status status = json_tree_write(tree, &written);
    json_decref(tree);
    return status;
}

static void json_tree_bounds_depth_and_size(void **state)
{
    (void)state;
    struct text CH_CLEANUP(text_deinit) small = { .limit_bytes = 4 };
    json_t *tree = json_loads("[1, 2, 3]", 0, NULL);
    enum ch_status status = json_tree_write(tree, &small);
    json_decref(tree);
    text_deinit(&small);
    assert_int_equal(status, CH_ERR_NO_MEMORY);
    assert_int_equal(write_deep(JSON_TREE_DEPTH_MAX), CH_OK);
    assert_int_equal(write_deep(JSON_TREE_DEPTH_MAX + 1), CH_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_tree_writes_every_kind_of_value),
        cmocka_unit_test(json_tree_keeps_the_order_of_members),
        cmocka_unit_test(json_tree_bounds_depth_and_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
