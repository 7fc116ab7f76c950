// SPDX-License-Identifier: Apache-2.0
//
// What entries are made of: the order of releases, pseudonyms of users, paths of files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/entry/entry_marks.h"
#include "collector/entry/release_order.h"
#include "collector/entry/user_name.h"
#include "support/test.h"

static void releases_are_ordered_as_people_number_them(void **state)
{
    (void)state;
    // Each is older than the next.
    static const char *const rising[] = {
        "",
        "0.9",
        "1.0-alpha",
        "1.0-alpha.2",
        "1.0-beta",
        "1.0-rc1",
        "1.0-rc2",
        "1.0-rc10",
        "v1.0",
        "1.0.1",
        "app@1.9",
        "1.10",
        "1.10+build7",
        "1.10.0.1",
        "2.0~rc1",
        "2.0",
        "2.0-hotfix",
        "2.0.1-rc.1",
        "2.0.1",
        "10",
        "2026.01.15",
        "2026.1.16",
        "99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
        for (size_t k = 0; k < sizeof(rising) / sizeof(rising[0]); k++) {
            int order = 7;
            assert_true(release_order(rising[i], rising[k], &order));
            if ((order > 0) != (i > k) || (order < 0) != (i < k))
                fail_msg("'%s' against '%s': %d", rising[i], rising[k], order);
        }
    }
}

static void the_same_release_may_be_written_in_several_ways(void **state)
{
    (void)state;
    static const char *const same[] = { "1.2.3", "v1.2.3", "app@1.2.3", "1.02.3",
                                        "1-2-3", "1.2.3.", "V1.2_3" };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        int order = 7;
        assert_true(release_order(same[0], same[i], &order));
        assert_int_equal(order, 0);
    }
}

static void hashes_of_commits_have_no_order(void **state)
{
    (void)state;
    int order = 7;
    assert_false(release_order("a1b2c3d4", "deadbeef", &order));
    assert_false(release_order("a1b2c3d4", "1.0", &order));
    assert_true(release_order("a1b2c3d4", "a1b2c3d4", &order));
    assert_int_equal(order, 0);
    assert_true(release_order("20260115", "20260116", &order)); // a day, not a hash
    assert_true(order < 0);
}

static void a_user_has_one_pseudonym_in_each_project(void **state)
{
    (void)state;
    char shop[USER_NAME_SIZE];
    char again[USER_NAME_SIZE];
    char bank[USER_NAME_SIZE];
    char other[USER_NAME_SIZE];
    user_name_hide("salt", "shop", "kim", shop);
    user_name_hide("salt", "shop", "kim", again);
    user_name_hide("salt", "bank", "kim", bank);
    user_name_hide("pepper", "shop", "kim", other);
    assert_string_equal(shop, again);
    assert_string_not_equal(shop, bank);
    assert_string_not_equal(shop, other);
    // What is a project's end and a user's beginning matters.
    user_name_hide("salt", "sho", "pkim", other);
    assert_string_not_equal(shop, other);
    assert_true(user_name_is_hidden(shop));
    assert_false(user_name_is_hidden("kim"));
    assert_false(user_name_is_hidden("#1234"));
    assert_false(user_name_is_hidden("#0123456789abcdeg"));
}

// hide hides the user of a report; NULL: the JSON is refused.
static char *hide(const char *json, struct text *out)
{
    json_t *report = json_loads(json, 0, NULL);
    assert_non_null(report);
    text_clear(out);
    enum ch_status status =
        user_name_hide_in("salt", "", report, json, strlen(json), out);
    char *tree = json_dumps(report, JSON_COMPACT);
    json_decref(report);
    bool named = strstr(tree, "\"user\":\"k") != NULL;
    free(tree);
    assert_true(status == CH_OK || status == CH_ERR_MALFORMED);
    assert_true(status != CH_OK || out->size == 0 || !named);
    return status == CH_OK ? out->bytes : NULL;
}

static void the_user_is_replaced_where_it_is_and_nothing_else_is(void **state)
{
    (void)state;
    static const char before[] =
        "{\"data\":{\"tags\":{\"user\":\"a\"}},\"x\":[\"tags\","
        "{\"tags\":{}}], \"tags\" : {\"a\":{\"user\":\"b\"},"
        "\n\"user\" :\t";
    static const char after[] = ",\"z\":\"user\"},\"user\":\"c\"}";
    char json[256];
    char expected[256];
    char pseudonym[USER_NAME_SIZE];
    struct text out = { 0 };
    user_name_hide("salt", "", "k\"im", pseudonym);
    (void)snprintf(json, sizeof(json), "%s\"k\\\"im\"%s", before, after);
    (void)snprintf(expected, sizeof(expected), "%s\"%s\"%s", before, pseudonym, after);
    assert_string_equal(hide(json, &out), expected);
    // A report that is stored again, and one without a user, stay as they are.
    (void)snprintf(json, sizeof(json), "%s", expected);
    (void)hide(json, &out);
    assert_int_equal(out.size, 0);
    (void)hide("{\"tags\":{\"a\":\"user\"},\"user\":\"kim\"}", &out);
    assert_int_equal(out.size, 0);
    text_deinit(&out);
}

static void a_user_that_cannot_be_hidden_is_refused(void **state)
{
    (void)state;
    struct text out = { 0 };
    assert_null(hide("{\"tags\":{\"us\\u0065r\":\"kim\"}}", &out));
    assert_null(hide("{\"tags\":{\"user\":4711}}", &out));
    assert_null(hide("{\"tags\":{\"user\":[\"kim\"]}}", &out));
    assert_null(hide("{\"t\\u0061gs\":{\"user\":\"kim\"}}", &out));
    text_deinit(&out);
}

static void text_that_ends_anywhere_is_not_read_beyond_its_end(void **state)
{
    (void)state;
    static const char json[] = "{\"tags\" : {\"user\" : \"kim\"}}";
    struct text out = { 0 };
    for (size_t size = 0; size < sizeof(json) - 1; size++) {
        char *cut = malloc(size + 1);
        memcpy(cut, json, size);
        char *exact = realloc(cut, size != 0 ? size : 1);
        json_t *report = json_loads(json, 0, NULL);
        text_clear(&out);
        enum ch_status status =
            user_name_hide_in("salt", "", report, exact, size, &out);
        json_decref(report);
        free(exact);
        assert_true(status == CH_OK || status == CH_ERR_MALFORMED);
    }
    text_deinit(&out);
}

// path_found gives the path that a report is found by whose crashed frame is in that
// file.
static const char *path_found(const char *file, char out[256])
{
    static struct entry entry;
    json_t *report = json_pack("{s:{s:i}, s:[{s:i, s:b, s:{s:[{s:s}]}}]}", "crash",
                               "thread", 1, "threads", "tid", 1, "crashed", 1,
                               "backtrace", "frames", "file", file);
    entry_marks_from_report(report, &entry);
    json_decref(report);
    for (const char *mark = entry_next_mark(&entry, NULL); mark != NULL;
         mark = entry_next_mark(&entry, mark))
        if (entry_mark_kind(mark) == FACET_FILE) {
            entry_copy(out, 256, mark + ENTRY_MARK_VALUE);
            return out;
        }
    return "";
}

static void a_file_is_found_by_one_path(void **state)
{
    (void)state;
    static const char *const paths[][2] = {
        { "/src/shop/find.c", "/src/shop/find.c" },
        { "./csu/../sysdeps/nptl/start.h", "sysdeps/nptl/start.h" },
        { "/build/out/../../src//find.c", "/src/find.c" },
        { "../../src/./a/../find.c", "../../src/find.c" },
        { "a/../../find.c", "../find.c" },
        { "..find.c/..", "" },
        { ".", "" },
        { "/..", "/.." },
        { "src/find.c/", "src/find.c" },
    };
    char found[256];
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_string_equal(path_found(paths[i][0], found), paths[i][1]);
    char deep[1000];
    for (size_t i = 0; i < sizeof(deep); i++)
        deep[i] = i % 10 == 0 ? '/' : 'd';
    deep[sizeof(deep) - 1] = 0;
    assert_int_equal(strlen(path_found(deep, found)) % 10, 0);
    assert_in_range(strlen(found), 100, 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(releases_are_ordered_as_people_number_them),
        cmocka_unit_test(the_same_release_may_be_written_in_several_ways),
        cmocka_unit_test(hashes_of_commits_have_no_order),
        cmocka_unit_test(a_user_has_one_pseudonym_in_each_project),
        cmocka_unit_test(the_user_is_replaced_where_it_is_and_nothing_else_is),
        cmocka_unit_test(a_user_that_cannot_be_hidden_is_refused),
        cmocka_unit_test(a_file_is_found_by_one_path),
        cmocka_unit_test(text_that_ends_anywhere_is_not_read_beyond_its_end),
    };
    return cmocka_run_group_tests_name("collector/entry", tests, NULL, NULL);
}
