// SPDX-License-Identifier: Apache-2.0
#include "upload/protocol.h"

#include <stdbool.h>
#include <stdio.h>

#include "support/test.h"

struct refused {
    char words[256];
};

static void note(void *context, const char *shown)
{
    struct refused *refused = context;
    size_t length = strlen(refused->words);
    (void)snprintf(refused->words + length, sizeof(refused->words) - length, "%s ",
                   shown);
}

static void targets_are_the_words_of_the_list(void **state)
{
    (void)state;
    struct refused refused = { "" };
    struct target_list list;
    assert_int_equal(target_list_parse(" http://a:1/  sentry+https://key@h/7\n"
                                       "otlp+http://o:4318 minidump+http://m/post/",
                                       note, &refused, &list),
                     CH_OK);
    bool right = list.count == 4 && list.targets[0].kind == TARGET_KIND_COLLECTOR &&
                 strcmp(list.targets[0].url, "http://a:1") == 0 &&
                 list.targets[1].kind == TARGET_KIND_SENTRY &&
                 strcmp(list.targets[1].url, "https://h") == 0 &&
                 strcmp(list.targets[1].key, "key") == 0 &&
                 strcmp(list.targets[1].project, "7") == 0 &&
                 strcmp(list.targets[1].shown, "sentry+https://***@h/7") == 0 &&
                 list.targets[2].kind == TARGET_KIND_OTLP &&
                 list.targets[3].kind == TARGET_KIND_MINIDUMP &&
                 strcmp(list.targets[3].url, "http://m/post/") == 0;
    target_list_deinit(&list);
    assert_true(right);
    assert_string_equal(refused.words, "");
}

static void targets_that_are_none_are_refused_one_by_one(void **state)
{
    (void)state;
    struct refused refused = { "" };
    struct target_list list;
    assert_int_equal(target_list_parse("ftp://x http:// http:///p gopher http://ok "
                                       "sentry+ftp://ann:pw@x",
                                       note, &refused, &list),
                     CH_OK);
    size_t count = list.count;
    target_list_deinit(&list);
    assert_int_equal(count, 1);
    assert_string_equal(refused.words,
                        "ftp://x http:// http:///p gopher sentry+ftp://***@x ");
}

static void targets_named_twice_count_once(void **state)
{
    (void)state;
    struct refused refused = { "" };
    struct target_list list;
    assert_int_equal(target_list_parse("http://a http://a", note, &refused, &list),
                     CH_OK);
    size_t count = list.count;
    target_list_deinit(&list);
    assert_int_equal(count, 1);
    assert_string_equal(refused.words, "");
}

static void targets_of_nothing_are_none(void **state)
{
    (void)state;
    struct target_list list;
    assert_int_equal(target_list_parse(NULL, note, NULL, &list), CH_OK);
    assert_int_equal(list.count, 0);
    target_list_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_the_words_of_the_list),
        cmocka_unit_test(targets_that_are_none_are_refused_one_by_one),
        cmocka_unit_test(targets_named_twice_count_once),
        cmocka_unit_test(targets_of_nothing_are_none),
    };
    return cmocka_run_group_tests_name("upload/target", tests, NULL, NULL);
}
