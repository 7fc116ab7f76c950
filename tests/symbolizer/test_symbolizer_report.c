// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dl_iterate_phdr
#include "symbolizer/symbolizer.h"

#include <stdlib.h>

#include "base/text.h"
#include "formats/interchange/image_map.h"
#include "support/test.h"
#include "symbolizer/own_report.h"

static const struct symbolizer_options plain = { .level = SYMBOLIZE_FULL };

#define NOINLINE __attribute__((noinline))

static uint64_t return_address;
static int where_line;

NOINLINE static void note_return_address(void)
{
    return_address = (uint64_t)__builtin_return_address(0);
}

NOINLINE static void caller_of_note(void)
{
    note_return_address(), where_line = __LINE__;
}

static int inline_line;
static int call_line;

__attribute__((always_inline)) static inline void inlined_note(void)
{
    note_return_address(), inline_line = __LINE__;
}

NOINLINE static void caller_of_inlined(void)
{
    inlined_note(), call_line = __LINE__;
}

static const char *string_of(const json_t *frame, const char *key)
{
    const char *value = json_string_value(json_object_get(frame, key));
    return value != NULL ? value : "(none)";
}

static bool ends_with(const char *string, const char *end)
{
    size_t length = strlen(string);
    return length >= strlen(end) && strcmp(string + length - strlen(end), end) == 0;
}

// symbolized is a report of one thread with one frame, with its names.
static json_t *symbolized(const char *kind, uint64_t address, size_t threads)
{
    json_t *report =
        own_report(json_pack("[o]", own_report_frame(kind, address)), threads);
    assert_int_equal(symbolizer_report(report, &plain), CH_OK);
    return report;
}

static void report_names_a_return_address_by_the_call_before_it(void **state)
{
    (void)state;
    caller_of_note();
    json_t *report = symbolized("ra", return_address, 1);
    const json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    bool named = strcmp(string_of(frame, "function"), "caller_of_note") == 0 &&
                 strcmp(string_of(frame, "raw_name"), "caller_of_note") == 0;
    bool file = ends_with(string_of(frame, "file"), "/test_symbolizer_report.c");
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    json_int_t offset = json_integer_value(json_object_get(frame, "function_offset"));
    json_int_t revision = json_integer_value(json_object_get(report, "revision"));
    json_decref(report);
    assert_true(named);
    assert_true(file);
    assert_int_equal(line, where_line);
    assert_int_equal(offset, return_address - (uint64_t)caller_of_note);
    assert_int_equal(revision, 1);
}

static void report_names_a_program_counter_where_it_is(void **state)
{
    (void)state;
    json_t *report = symbolized("pc", (uint64_t)caller_of_note, 1);
    const json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    bool named = strcmp(string_of(frame, "function"), "caller_of_note") == 0;
    bool flags = json_is_false(json_object_get(frame, "inline")) &&
                 json_is_false(json_object_get(frame, "system"));
    json_decref(report);
    assert_true(named);
    assert_true(flags);
}

static bool is_at(const json_t *frame, const char *function, int line)
{
    return strcmp(string_of(frame, "function"), function) == 0 &&
           json_integer_value(json_object_get(frame, "line")) == line;
}

static void report_puts_inlined_frames_before_their_caller(void **state)
{
    (void)state;
    caller_of_inlined();
    json_t *report = symbolized("ra", return_address, 1);
    const json_t *frames = own_report_frames(report, 0);
    const json_t *inner = json_array_get(frames, 0);
    const json_t *outer = json_array_get(frames, 1);
    size_t count = json_array_size(frames);
    bool named = is_at(inner, "inlined_note", inline_line) &&
                 is_at(outer, "caller_of_inlined", call_line);
    bool marked = json_is_true(json_object_get(inner, "inline")) &&
                  json_is_false(json_object_get(outer, "inline"));
    bool repeated = json_equal(json_object_get(inner, "address"),
                               json_object_get(outer, "address")) &&
                    json_equal(json_object_get(inner, "image_offset"),
                               json_object_get(outer, "image_offset"));
    json_decref(report);
    assert_int_equal(count, 2);
    assert_true(named);
    assert_true(marked);
    assert_true(repeated);
}

// named_as is what the frames are called, innermost first, as `a b c `.
static const char *named_as(const json_t *report)
{
    static char text[256];
    const json_t *frames = own_report_frames(report, 0);
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < json_array_size(frames) && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
                                 string_of(json_array_get(frames, i), "function"));
    return text;
}

static void report_keeps_what_an_interpreter_ran_before_its_function(void **state)
{
    (void)state;
    caller_of_inlined();
    json_t *ran = own_report_frame("ra", return_address);
    json_t *jitted = own_report_frame("ra", 0x10);
    json_object_set_new(ran, "function", json_string("Shop.total"));
    json_object_set_new(ran, "inline", json_true());
    json_object_set_new(ran, "source", json_string("interpreter"));
    json_object_set_new(jitted, "function", json_string("serve"));
    json_object_set_new(jitted, "source", json_string("perf-map"));
    json_t *report = own_report(
        json_pack("[o, o, o]", ran, own_report_frame("ra", return_address), jitted), 1);
    enum ch_status status = symbolizer_report(report, &plain);
    assert_string_equal(named_as(report),
                        "inlined_note Shop.total caller_of_inlined serve ");
    enum ch_status again = symbolizer_report(report, &plain);
    assert_string_equal(named_as(report),
                        "inlined_note Shop.total caller_of_inlined serve ");
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_int_equal(again, CH_OK);
}

static void report_names_functions_alone_when_asked_to_be_fast(void **state)
{
    (void)state;
    caller_of_inlined();
    const struct symbolizer_options fast = { .level = SYMBOLIZE_FAST };
    json_t *report =
        own_report(json_pack("[o]", own_report_frame("ra", return_address)), 1);
    enum ch_status status = symbolizer_report(report, &fast);
    const json_t *frames = own_report_frames(report, 0);
    const json_t *frame = json_array_get(frames, 0);
    size_t count = json_array_size(frames);
    bool named = strcmp(string_of(frame, "function"), "caller_of_inlined") == 0;
    bool lines = json_object_get(frame, "line") != NULL;
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_int_equal(count, 1);
    assert_true(named);
    assert_false(lines);
}

static void report_names_an_exported_function_of_the_c_library(void **state)
{
    (void)state;
    json_t *report = symbolized("pc", (uint64_t)&qsort, 1);
    const json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    bool named = strncmp(string_of(frame, "function"), "qsort", 5) == 0;
    bool system = json_is_true(json_object_get(frame, "system"));
    json_decref(report);
    if (!CRASHHOOK_SANITIZED) { // the sanitizer puts its own in front
        assert_true(named);
        assert_true(system);
    }
}

static void report_names_every_thread(void **state)
{
    (void)state;
    json_t *report = symbolized("pc", (uint64_t)caller_of_note, 50);
    size_t named = 0;
    for (size_t i = 0; i < 50; i++)
        named += strcmp(string_of(json_array_get(own_report_frames(report, i), 0),
                                  "function"),
                        "caller_of_note") == 0;
    json_decref(report);
    assert_int_equal(named, 50);
}

static void report_symbolized_twice_is_the_same(void **state)
{
    (void)state;
    caller_of_inlined();
    json_t *report = symbolized("ra", return_address, 2);
    json_t *once = json_deep_copy(report);
    enum ch_status status = symbolizer_report(report, &plain);
    int equal = json_equal(once, report);
    json_decref(once);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(equal);
}

static void report_refuses_an_image_of_another_build(void **state)
{
    (void)state;
    json_t *frames = json_pack("[o]", own_report_frame("pc", (uint64_t)caller_of_note));
    json_t *report = own_report(frames, 1);
    json_object_set_new(json_array_get(json_object_get(report, "images"), 0),
                        "build_id",
                        json_string("00112233445566778899aabbccddeeff00112233"));
    enum ch_status status = symbolizer_report(report, &plain);
    const json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    bool nameless = json_object_get(frame, "function") == NULL;
    bool why = strcmp(string_of(frame, "symbol_status"), "mismatched-build-id") == 0;
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(nameless);
    assert_true(why);
}

static void report_says_that_an_address_is_in_no_image(void **state)
{
    (void)state;
    json_t *report = symbolized("pc", 0x1234, 1);
    const json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    bool nameless = json_object_get(frame, "function") == NULL;
    bool why = strcmp(string_of(frame, "symbol_status"), "no-image") == 0;
    json_decref(report);
    assert_true(nameless);
    assert_true(why);
}

static void report_keeps_frames_that_stand_for_left_out_ones(void **state)
{
    (void)state;
    json_t *frames = json_pack("[o, {s:s, s:i}, {s:s}]",
                               own_report_frame("pc", (uint64_t)caller_of_note), "kind",
                               "omit", "count", 9, "kind", "trunc");
    json_t *report = own_report(frames, 1);
    enum ch_status status = symbolizer_report(report, &plain);
    const json_t *kept = own_report_frames(report, 0);
    json_t *wanted =
        json_pack("[{s:s, s:i}, {s:s}]", "kind", "omit", "count", 9, "kind", "trunc");
    int same = json_equal(json_array_get(kept, 1), json_array_get(wanted, 0)) &&
               json_equal(json_array_get(kept, 2), json_array_get(wanted, 1));
    json_decref(wanted);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(same);
}

// pc 0x1000 (absolute), ra 0x1010 three times, end
static void report_rebuilds_frames_from_its_cbf(void **state)
{
    (void)state;
    static const uint8_t cbf[] = { 0x02, 0x19, 0x10, 0x00, 0x20, 0x10, 0x82, 0x00 };
    char text[BASE64_SIZE(sizeof(cbf))];
    base64_encode(cbf, sizeof(cbf), text);
    json_t *report = json_pack("{s:[], s:[{s:{s:s}}]}", "images", "threads",
                               "backtrace", "cbf", text);
    enum ch_status status = symbolizer_report(report, &plain);
    const json_t *frames = own_report_frames(report, 0);
    size_t count = json_array_size(frames);
    bool first = strcmp(string_of(json_array_get(frames, 0), "address"), "0x1000") == 0;
    bool last = strcmp(string_of(json_array_get(frames, count - 1), "address"),
                       "0x1010") == 0 &&
                strcmp(string_of(json_array_get(frames, count - 1), "kind"), "ra") == 0;
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(count > 2);
    assert_true(first);
    assert_true(last);
}

// map_of is a Compact Image Map, in base64, of the one image at path.
static json_t *map_of(const char *path, uint64_t base)
{
    static const uint8_t id[] = { 0xab, 0xcd };
    const struct image_map_image image = { .path = path,
                                           .path_size = strlen(path),
                                           .build_id = id,
                                           .build_id_size = sizeof(id),
                                           .base = base,
                                           .end_of_text = base + 0x1000 };
    struct image_map_writer writer;
    struct text map = { 0 };
    char text[512] = "";
    if (image_map_writer_init(&writer, &map, 64, "Linux (test)", 1) == CH_OK &&
        image_map_write(&writer, &image) == CH_OK)
        base64_encode(map.bytes, map.size, text);
    image_map_writer_deinit(&writer);
    text_deinit(&map);
    return json_string(text);
}

static void report_takes_its_images_from_its_map_where_it_lists_none(void **state)
{
    (void)state;
    json_t *report = json_pack("{s:o, s:[{s:{s:[o]}}]}", "image_map",
                               map_of("/nowhere/of/it.so", 0x7000), "threads",
                               "backtrace", "frames", own_report_frame("pc", 0x7010));
    json_t *wanted = json_pack("[{s:s, s:s, s:s, s:s, s:s}]", "name", "it.so", "path",
                               "/nowhere/of/it.so", "build_id", "abcd", "base",
                               "0x7000", "end_of_text", "0x8000");
    enum ch_status status = symbolizer_report(report, &plain);
    int images = json_equal(json_object_get(report, "images"), wanted);
    json_t *frame = json_array_get(own_report_frames(report, 0), 0);
    json_t *placed =
        json_pack("{s:s, s:s, s:i, s:s, s:b, s:b, s:s}", "kind", "pc", "address",
                  "0x7010", "image", 0, "image_offset", "0x10", "inline", 0, "system",
                  0, "symbol_status", "no-image-file");
    int same = json_equal(frame, placed);
    json_decref(placed);
    json_decref(wanted);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(images);
    assert_true(same);
}

static void report_keeps_the_images_it_lists_beside_a_map(void **state)
{
    (void)state;
    json_t *report = json_pack("{s:o, s:[{s:s, s:s, s:s}], s:[]}", "image_map",
                               map_of("/other", 0x7000), "images", "path", "/listed",
                               "base", "0x1000", "end_of_text", "0x2000", "threads");
    json_t *before = json_deep_copy(json_object_get(report, "images"));
    enum ch_status status = symbolizer_report(report, &plain);
    int same = json_equal(json_object_get(report, "images"), before);
    json_decref(before);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(same);
}

static void report_stays_raw_when_symbolizing_is_off(void **state)
{
    (void)state;
    json_t *report = own_report(
        json_pack("[o]", own_report_frame("pc", (uint64_t)caller_of_note)), 1);
    json_t *before = json_deep_copy(report);
    const struct symbolizer_options off = { .level = SYMBOLIZE_OFF };
    enum ch_status status = symbolizer_report(report, &off);
    int equal = json_equal(before, report);
    json_decref(before);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(equal);
}

static void report_of_odd_shape_is_refused_or_survived(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "{}",
        "[]",
        "{\"threads\":3}",
        "{\"threads\":[null,1,{},{\"backtrace\":7}],\"images\":9}",
        "{\"threads\":[{\"backtrace\":{\"frames\":[1,null,{\"kind\":\"pc\"},"
        "{\"kind\":\"pc\",\"address\":\"zz\"},{\"kind\":\"ra\",\"address\":\"0x0\"},"
        "{\"kind\":\"pc\",\"address\":\"0x10\",\"image\":-1,\"image_offset\":\"0x1\"},"
        "{\"kind\":\"pc\",\"address\":\"0x10\",\"image\":77,\"image_offset\":\"0x1\"}"
        "]}}],\"images\":[null,{\"path\":3,\"base\":\"x\"}]}",
        "{\"threads\":[{\"backtrace\":{\"cbf\":\"!!!\"}},{\"backtrace\":{\"cbf\":\"\"}}"
        ","
        "{\"backtrace\":{\"cbf\":\"/////w==\"}}]}",
        "{\"threads\":[],\"image_map\":7}",
        "{\"threads\":[],\"image_map\":\"!\"}",
        "{\"threads\":[],\"image_map\":\"/////w==\",\"images\":[]}",
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        json_t *report = json_loads(odd[i], 0, NULL);
        enum ch_status status = symbolizer_report(report, &plain);
        json_decref(report);
        assert_true(status == CH_OK || status == CH_ERR_MALFORMED);
    }
}

static void guarded_report_is_the_same_as_an_unguarded_one(void **state)
{
    (void)state;
    caller_of_inlined();
    json_t *plainly = symbolized("ra", return_address, 3);
    json_t *guarded =
        own_report(json_pack("[o]", own_report_frame("ra", return_address)), 3);
    enum ch_status status = symbolizer_report_guarded(guarded, &plain);
    int equal = json_equal(plainly, guarded);
    json_decref(plainly);
    json_decref(guarded);
    assert_int_equal(status, CH_OK);
    assert_true(equal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_names_a_return_address_by_the_call_before_it),
        cmocka_unit_test(report_names_a_program_counter_where_it_is),
        cmocka_unit_test(report_puts_inlined_frames_before_their_caller),
        cmocka_unit_test(report_keeps_what_an_interpreter_ran_before_its_function),
        cmocka_unit_test(report_names_functions_alone_when_asked_to_be_fast),
        cmocka_unit_test(report_names_an_exported_function_of_the_c_library),
        cmocka_unit_test(report_names_every_thread),
        cmocka_unit_test(report_symbolized_twice_is_the_same),
        cmocka_unit_test(report_refuses_an_image_of_another_build),
        cmocka_unit_test(report_says_that_an_address_is_in_no_image),
        cmocka_unit_test(report_keeps_frames_that_stand_for_left_out_ones),
        cmocka_unit_test(report_rebuilds_frames_from_its_cbf),
        cmocka_unit_test(report_takes_its_images_from_its_map_where_it_lists_none),
        cmocka_unit_test(report_keeps_the_images_it_lists_beside_a_map),
        cmocka_unit_test(report_stays_raw_when_symbolizing_is_off),
        cmocka_unit_test(report_of_odd_shape_is_refused_or_survived),
        cmocka_unit_test(guarded_report_is_the_same_as_an_unguarded_one),
    };
    return cmocka_run_group_tests_name("symbolizer/symbolizer_report", tests, NULL,
                                       NULL);
}
