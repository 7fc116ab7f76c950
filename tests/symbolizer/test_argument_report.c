// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_report.h"

#include "support/test.h"

// two_frames is a backtrace of two frames.
static json_t *two_frames(void)
{
    return json_pack("{s:[{s:s},{s:s}]}", "frames", "address", "0x1", "address", "0x2");
}

static json_t *thread_with(json_t *backtrace)
{
    return json_pack("{s:O}", "backtrace", backtrace);
}

// call_of is the variables of frame number index: one argument with that value.
static json_t *call_of(int index, int value)
{
    return json_pack("{s:i, s:[{s:i, s:s, s:i}]}", "frame", index, "arguments", "index",
                     0, "confidence", "exact", "value", value);
}

static json_t *frame_of(const json_t *report, size_t thread, size_t index)
{
    const json_t *of = json_array_get(json_object_get(report, "threads"), thread);
    return json_array_get(json_object_get(json_object_get(of, "backtrace"), "frames"),
                          index);
}

static json_int_t value_of(const json_t *report, size_t thread, size_t index)
{
    const json_t *list = json_object_get(frame_of(report, thread, index), "arguments");
    const json_t *value = json_object_get(json_array_get(list, 0), "value");
    return value != NULL ? json_integer_value(value) : -1;
}

// Threads 0 to 2 share a backtrace. The first two have the same values, the third has
// another one in its second frame, and the last thread has none.
static void equal_values_stay_shared_and_others_get_frames_of_their_own(void **state)
{
    (void)state;
    json_t *backtrace = two_frames();
    json_t *report = json_pack("{s:[o,o,o,o]}", "threads", thread_with(backtrace),
                               thread_with(backtrace), thread_with(backtrace),
                               thread_with(backtrace));
    json_t *first = call_of(0, 7);
    json_t *same = json_pack("[O, o]", first, call_of(1, 8));
    json_t *all = json_pack("[O, O, [O, o], []]", same, same, first, call_of(1, 9));
    enum ch_status status = argument_report_write(report, all);
    const json_int_t values[] = { value_of(report, 0, 0), value_of(report, 0, 1),
                                  value_of(report, 1, 1), value_of(report, 2, 0),
                                  value_of(report, 2, 1), value_of(report, 3, 0) };
    bool shared = frame_of(report, 0, 1) == frame_of(report, 1, 1) &&
                  frame_of(report, 0, 0) == frame_of(report, 2, 0);
    bool kept =
        json_object_size(json_array_get(json_object_get(backtrace, "frames"), 1)) == 1;
    json_decref(backtrace);
    json_decref(report);
    json_decref(first);
    json_decref(same);
    json_decref(all);
    static const json_int_t expected[] = { 7, 8, 8, 7, 9, -1 };
    assert_int_equal(status, CH_OK);
    assert_memory_equal(values, expected, sizeof(expected));
    assert_true(shared);
    assert_true(kept);
}

static enum ch_status written(json_t *all)
{
    json_t *backtrace = two_frames();
    json_t *report = json_pack("{s:[o]}", "threads", thread_with(backtrace));
    enum ch_status status = argument_report_write(report, all);
    json_decref(backtrace);
    json_decref(report);
    json_decref(all);
    return status;
}

static void an_answer_of_another_form_is_refused(void **state)
{
    (void)state;
    assert_int_equal(written(json_object()), CH_ERR_MALFORMED);
    assert_int_equal(written(json_pack("[[o]]", call_of(2, 1))), CH_ERR_MALFORMED);
    assert_int_equal(written(json_pack("[[o]]", call_of(-1, 1))), CH_ERR_MALFORMED);
    assert_int_equal(written(json_pack("[[], [o]]", call_of(0, 1))), CH_ERR_MALFORMED);
    assert_int_equal(written(json_pack("[[{s:i, s:{}}]]", "frame", 0, "arguments")),
                     CH_ERR_MALFORMED);
    assert_int_equal(
        written(json_pack("[[{s:i, s:[{s:i}]}]]", "frame", 0, "locals", "index", 0)),
        CH_ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_stay_shared_and_others_get_frames_of_their_own),
        cmocka_unit_test(an_answer_of_another_form_is_refused),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_report", tests, NULL, NULL);
}
