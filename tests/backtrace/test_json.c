// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static int read_text(const char *json)
{
    struct crashhook_backtrace *backtrace;
    int error = crashhook_backtrace_from_json(json, strlen(json), &backtrace);
    if (error == 0)
        crashhook_backtrace_destroy(backtrace);
    return error;
}

static int read_named(const char *json)
{
    struct crashhook_symbolicated_backtrace *named;
    int error = crashhook_symbolicated_backtrace_from_json(json, strlen(json), &named);
    if (error == 0)
        crashhook_symbolicated_backtrace_destroy(named);
    return error;
}

static void a_captured_backtrace_comes_back_the_same(void **state)
{
    (void)state;
    struct crashhook_backtrace *made;
    struct crashhook_backtrace *read;
    assert_int_equal(crashhook_backtrace_capture(NULL, &made), 0);
    char *json = crashhook_backtrace_to_json(made);
    assert_int_equal(crashhook_backtrace_from_json(json, strlen(json), &read), 0);
    char *again = crashhook_backtrace_to_json(read);
    char *text = crashhook_backtrace_description(made);
    char *read_back = crashhook_backtrace_description(read);
    int same = strcmp(json, again) | strcmp(text, read_back);
    free(json);
    free(again);
    free(text);
    free(read_back);
    crashhook_backtrace_destroy(made);
    crashhook_backtrace_destroy(read);
    assert_int_equal(same, 0);
}

static void a_symbolicated_backtrace_comes_back_the_same(void **state)
{
    (void)state;
    struct crashhook_backtrace *made;
    struct crashhook_symbolicated_backtrace *named;
    struct crashhook_symbolicated_backtrace *read;
    assert_int_equal(crashhook_backtrace_capture(NULL, &made), 0);
    assert_int_equal(crashhook_backtrace_symbolicate(
                         made, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT, &named),
                     0);
    char *json = crashhook_symbolicated_backtrace_to_json(named);
    assert_int_equal(
        crashhook_symbolicated_backtrace_from_json(json, strlen(json), &read), 0);
    char *text = crashhook_symbolicated_backtrace_description(named);
    char *again = crashhook_symbolicated_backtrace_description(read);
    int same = strcmp(text, again);
    free(json);
    free(text);
    free(again);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_symbolicated_backtrace_destroy(read);
    crashhook_backtrace_destroy(made);
    assert_int_equal(same, 0);
}

// count_frames counts the frames of a backtrace, and gives the last one.
static size_t count_frames(const char *json, struct crashhook_frame *out_last)
{
    struct crashhook_backtrace *read;
    size_t count = 0;
    assert_int_equal(crashhook_backtrace_from_json(json, strlen(json), &read), 0);
    struct crashhook_frames frames = crashhook_backtrace_frames(read);
    while (crashhook_frames_next(&frames, out_last))
        count++;
    crashhook_backtrace_destroy(read);
    return count;
}

static void what_swift_writes_ends_without_a_false_truncation(void **state)
{
    (void)state;
    // base64 without padding, first address relative, no end byte
    static const char json[] = "{\"architecture\":\"arm64\",\"backtrace\":\"AhBVIAE\"}";
    struct crashhook_frame frame;
    size_t count = count_frames(json, &frame);
    assert_int_equal(count, 2);
    assert_int_equal(frame.kind, CRASHHOOK_FRAME_RETURN_ADDRESS);
    assert_int_equal(frame.address.bits, 0x56);
}

static void json_that_is_no_backtrace_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "{",
        "{\"architecture\":\"x\"}",
        "{\"backtrace\":\"AgA=\"}",
        "{\"architecture\":1,\"backtrace\":\"AgA=\"}",
        "{\"architecture\":\"x\",\"backtrace\":\"\"}",
        "{\"architecture\":\"x\",\"backtrace\":\"*\"}",
        "{\"architecture\":\"x\",\"backtrace\":\"AhA=\"}", // cut
        "{\"architecture\":\"x\",\"backtrace\":\"AoA=\"}", // repeats nothing
        "{\"architecture\":\"x\",\"backtrace\":\"AgA=\",\"imageMap\":\"Ag\"}",
        "{\"architecture\":\"x\",\"backtrace\":\"AgA=\",\"imageMap\":7}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(read_text(wrong[i]), EINVAL);
    assert_int_equal(read_text("{\"architecture\":\"x\",\"backtrace\":\"AgA=\"}"), 0);
}

static void frames_that_contradict_their_kind_are_refused(void **state)
{
    (void)state;
    static const char head[] =
        "{\"architecture\":\"x\",\"backtrace\":\"AgA=\",\"frames\":";
    static const char *const wrong[] = {
        "7}",
        "[7]}",
        "[{\"kind\":\"other\"}]}",
        "[{\"kind\":\"returnAddress\"}]}",
        "[{\"kind\":\"returnAddress\",\"address\":\"0x1\"}]}",
        "[{\"kind\":\"omittedFrames\",\"count\":-1}]}",
        "[{\"kind\":\"truncated\",\"symbol\":\"f\",\"imageIndex\":0}]}",
    };
    char json[256];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(json, sizeof(json), "%s%s", head, wrong[i]);
        assert_int_equal(read_named(json), EINVAL);
    }
    snprintf(json, sizeof(json), "%s[]}", head);
    assert_int_equal(read_named(json), 0);
}

static void a_promise_of_endless_frames_is_cut_off(void **state)
{
    (void)state;
    // pc 0x55, repeated 2^56 - 1 times
    static const char json[] =
        "{\"architecture\":\"x\",\"backtrace\":\"AhBVjv////////8A\"}";
    struct crashhook_frame frame;
    size_t count = count_frames(json, &frame);
    assert_int_equal(count, CRASHHOOK_FRAMES_MAX + 1);
    assert_int_equal(frame.kind, CRASHHOOK_FRAME_TRUNCATED);
}

static void json_survives_every_truncation(void **state)
{
    (void)state;
    struct crashhook_backtrace *made;
    assert_int_equal(crashhook_backtrace_capture(NULL, &made), 0);
    char *json = crashhook_backtrace_to_json(made);
    size_t length = strlen(json);
    int accepted = 0;
    for (size_t n = 0; n < length; n++) {
        struct crashhook_backtrace *read;
        char *prefix = malloc(n);
        memcpy(prefix, json, n);
        accepted += crashhook_backtrace_from_json(prefix, n, &read) == 0;
        free(prefix);
    }
    free(json);
    crashhook_backtrace_destroy(made);
    assert_int_equal(accepted, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_backtrace_comes_back_the_same),
        cmocka_unit_test(a_symbolicated_backtrace_comes_back_the_same),
        cmocka_unit_test(what_swift_writes_ends_without_a_false_truncation),
        cmocka_unit_test(json_that_is_no_backtrace_is_refused),
        cmocka_unit_test(frames_that_contradict_their_kind_are_refused),
        cmocka_unit_test(a_promise_of_endless_frames_is_cut_off),
        cmocka_unit_test(json_survives_every_truncation),
    };
    return cmocka_run_group_tests_name("backtrace/json", tests, NULL, NULL);
}
