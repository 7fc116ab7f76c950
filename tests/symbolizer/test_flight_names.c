// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/flight_names.h"

#include <stdbool.h>

#include "support/test.h"

// A report in which main called load, which called load and parse, left both by a jump,
// and then fill, where it crashed; fill is inlined into load. Names were looked up.
static const char *const text =
    "{'threads':[{'tid':7,'backtrace':{'frames':["
    "  {'kind':'pc','address':'0x1044','function':'fill','inline':true},"
    "  {'kind':'pc','address':'0x1044','function':'load','function_offset':4},"
    "  {'kind':'ra','address':'0x2008','function':'start','function_offset':8}]}}],"
    " 'flight':{'functions':{'frames':["
    "   {'address':'0x2000','function':'main'},"
    "   {'address':'0x1040','function':'copy','inline':true},"
    "   {'address':'0x1040','function':'load'},"
    "   {'address':'0x3000','function':'parse'},"
    "   {'address':'0x4000','function':'fill'},"
    "   {'address':'0x5000','function':'copy','inline':true}]},"
    "  'threads':[{'tid':7,"
    "   'events':[{'action':'enter','address':'0x1040','function':'old'},"
    "             {'action':'exit','address':'0x9999','function':'old'},"
    "             {'action':'enter','address':'0x5000'}],"
    "   'open':[{'address':'0x2000'},{'address':'0x1040'},"
    "           {'address':'0x1040','arguments':['0x2a']},{'address':'0x3000'},"
    "           {'address':'0x4000'}]}]}}";

static int setup(void **state)
{
    char json[2048];
    size_t size = strlen(text);
    memcpy(json, text, size);
    for (size_t i = 0; i < size; i++)
        json[i] = json[i] == '\'' ? '"' : json[i];
    *state = json_loadb(json, size, 0, NULL);
    return *state != NULL && flight_names_write(*state) == CH_OK ? 0 : -1;
}

static int teardown(void **state)
{
    json_decref(*state);
    return 0;
}

static const json_t *thread_of(const json_t *report)
{
    return json_array_get(json_object_get(json_object_get(report, "flight"), "threads"),
                          0);
}

static const json_t *item(const json_t *object, const char *key, size_t index)
{
    return json_array_get(json_object_get(object, key), index);
}

static const char *name_of(const json_t *call)
{
    return json_string_value(json_object_get(call, "function"));
}

static void flight_names_are_spread_over_the_events(void **state)
{
    const json_t *thread = thread_of(*state);
    // What is inlined where load begins is not load, and old names are gone.
    assert_string_equal(name_of(item(thread, "events", 0)), "load");
    assert_null(name_of(item(thread, "events", 1)));
    assert_null(name_of(item(thread, "events", 2)));
}

static void flight_names_list_the_open_calls(void **state)
{
    static const char *const names[] = { "main", "load", "load", "parse", "fill" };
    const json_t *thread = thread_of(*state);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(json_string_value(item(thread, "open_calls", i)), names[i]);
}

static void flight_names_find_the_frames_of_open_calls(void **state)
{
    const json_t *thread = thread_of(*state);
    const json_t *found = json_object_get(thread, "open_on_stack");
    assert_int_equal(json_integer_value(found), 3);
    // main by where it begins, though the frame has another name for it
    static const int frames[] = { 2, -1, 1, -1, 0 };
    for (size_t i = 0; i < 5; i++) {
        const json_t *frame = json_object_get(item(thread, "open", i), "frame");
        assert_int_equal(json_is_integer(frame) ? json_integer_value(frame) : -1,
                         frames[i]);
    }
}

static void flight_names_give_the_same_a_second_time(void **state)
{
    json_t *before = json_deep_copy(*state);
    enum ch_status status = flight_names_write(*state);
    bool same = json_equal(before, *state);
    json_decref(before);
    assert_int_equal(status, CH_OK);
    assert_true(same);
}

static void flight_arguments_become_those_of_frames(void **state)
{
    flight_arguments_add(*state);
    const json_t *thread = json_array_get(json_object_get(*state, "threads"), 0);
    const json_t *frame = item(json_object_get(thread, "backtrace"), "frames", 1);
    const json_t *argument = item(frame, "arguments", 0);
    const json_t *value = json_object_get(argument, "entry_value");
    assert_string_equal(json_string_value(value), "0x2a"); // of no known type
    assert_string_equal(json_string_value(json_object_get(argument, "source")),
                        "flight-record");
}

static void flight_names_take_any_report(void **state)
{
    static const char *const others[] = {
        "{}",
        "{\"flight\":1}",
        "{\"flight\":{\"functions\":{\"frames\":[1,{\"address\":2}]},\"threads\":[3]}}",
        "{\"flight\":{\"functions\":{},\"threads\":[{\"open\":[1,{\"frame\":-1}]}]}}",
        "{\"flight\":{\"threads\":[{\"events\":{}}]},\"threads\":[{\"tid\":0}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        json_t *report = json_loads(others[i], 0, NULL);
        assert_non_null(report);
        enum ch_status status = flight_names_write(report);
        flight_arguments_add(report);
        json_decref(report);
        assert_int_equal(status, CH_OK);
    }
}

int main(void)
{
#define WITH_REPORT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_REPORT(flight_names_are_spread_over_the_events),
        WITH_REPORT(flight_names_list_the_open_calls),
        WITH_REPORT(flight_names_find_the_frames_of_open_calls),
        WITH_REPORT(flight_names_give_the_same_a_second_time),
        WITH_REPORT(flight_arguments_become_those_of_frames),
        cmocka_unit_test(flight_names_take_any_report),
    };
    return cmocka_run_group_tests_name("symbolizer/flight_names", tests, NULL, NULL);
}
