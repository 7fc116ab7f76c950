// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pages/page.h"
#include "report/value/report.h"
#include "support/test.h"

// A thread of count frames at one address; frame i is function names[i % kinds].
static json_t *thread_of(const char *const *names, size_t kinds, size_t count)
{
    json_t *frames = json_array();
    for (size_t i = 0; i < count; i++) {
        bool is_inline = (i + 1) % kinds != 0;
        json_t *frame =
            json_pack("{s:s, s:s, s:s, s:b, s:b}", "kind", "ra", "address", "0x401000",
                      "function", names[i % kinds], "inline", is_inline, "system", 0);
        (void)json_array_append_new(frames, frame);
    }
    return json_pack("{s:b, s:{s:s, s:o}}", "crashed", 1, "backtrace", "ended",
                     "end-of-stack", "frames", frames);
}

// How the page writes that thread, to be freed.
static char *page_of(json_t *thread)
{
    struct text out = { 0 };
    json_t *report = json_pack("{s:[O]}", "threads", thread);
    page_frames_write(&out, report, thread, NULL);
    json_decref(report);
    json_decref(thread);
    char *page = strdup(out.bytes != NULL ? out.bytes : "");
    text_deinit(&out);
    return page;
}

static void frames_inlined_into_each_other_are_all_shown(void **state)
{
    (void)state;
    static const char *const names[] = { "parse_head", "parse_line", "parse_file",
                                         "read_config", "main" };
    char *page = page_of(thread_of(names, 5, 5));
    bool folds = strstr(page, "the same call") != NULL;
    size_t shown = 0;
    for (size_t i = 0; i < 5; i++)
        shown += strstr(page, names[i]) != NULL;
    free(page);
    assert_false(folds);
    assert_int_equal(shown, 5);
}

static void a_call_that_repeats_is_folded(void **state)
{
    (void)state;
    static const char *const names[] = { "walk" };
    char *page = page_of(thread_of(names, 1, 9));
    bool folds = strstr(page, "the same call 8 times") != NULL;
    free(page);
    assert_true(folds);
}

static void of_a_long_recursion_a_part_is_written_and_the_rest_is_counted(void **state)
{
    (void)state;
    static const char *const names[] = { "parse_value", "parse_list", "parse_item" };
    char *page = page_of(thread_of(names, 3, 270));
    bool folds = strstr(page, "the same 3 calls 89 times more") != NULL;
    bool counted = strstr(page, "243 more of them are in the JSON") != NULL;
    size_t size = strlen(page);
    free(page);
    assert_true(folds && counted);
    assert_in_range(size, 1, 20000);
}

// The calls of a round have addresses of their own, as those of mutual recursion do.
static void a_round_of_several_calls_that_repeats_is_folded(void **state)
{
    (void)state;
    static const char *const names[] = { "parse_value", "parse_list", "parse_item" };
    json_t *thread = thread_of(names, 3, 30);
    json_t *frames = json_object_get(json_object_get(thread, "backtrace"), "frames");
    for (size_t i = 0; i < 30; i++) {
        char address[24];
        (void)snprintf(address, sizeof(address), "0x%zx", 0x401000 + 16 * i);
        (void)json_object_set_new(json_array_get(frames, i), "address",
                                  json_string(address));
    }
    char *page = page_of(thread);
    bool folds = strstr(page, "the same 3 calls 9 times more") != NULL;
    const char *fold = strstr(page, "<details>");
    size_t before = 0;
    for (const char *at = strstr(page, "parse_"); at != NULL && at < fold;
         at = strstr(at + 1, ">parse_"))
        before++;
    free(page);
    assert_true(folds);
    assert_int_equal(before, 4); // the first match is in a link
}

static void variables_without_a_value_are_one_quiet_sign_with_its_reasons(void **state)
{
    (void)state;
    static const char *const names[] = { "add" };
    json_t *thread = thread_of(names, 1, 1);
    json_t *frames = json_object_get(json_object_get(thread, "backtrace"), "frames");
    json_t *arguments = json_pack("[{s:s,s:i},{s:s,s:s},{s:s,s:s}]", "name", "one",
                                  "value", 7, "name", "two", "reason", "clobbered",
                                  "name", "three", "reason", "optimized-out");
    (void)json_object_set_new(json_array_get(frames, 0), "arguments", arguments);
    char *page = page_of(thread);
    bool quiet = strstr(page, "<summary>two, three = ?</summary>") != NULL;
    bool why = strstr(page, "two: its register was overwritten; three: the compiler"
                            " left it out") != NULL;
    bool known = strstr(page, "<span>one</span> = 7") != NULL;
    free(page);
    assert_true(quiet && why && known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_inlined_into_each_other_are_all_shown),
        cmocka_unit_test(a_call_that_repeats_is_folded),
        cmocka_unit_test(of_a_long_recursion_a_part_is_written_and_the_rest_is_counted),
        cmocka_unit_test(a_round_of_several_calls_that_repeats_is_folded),
        cmocka_unit_test(variables_without_a_value_are_one_quiet_sign_with_its_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
