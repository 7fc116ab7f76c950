// SPDX-License-Identifier: Apache-2.0
#include "report/value/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/bytes.h"
#include "support/test.h"

#define SMALL                                                                          \
    "{\"schema\":\"crashhook.report/1\",\"id\":\"01928374-5566-7788-99aa-"             \
    "bbccddeeff00\",\"revision\":0,\"time\":\"2024-10-12T22:13:50.758Z\","             \
    "\"crash\":{\"signal\":11,\"name\":\"SIGSEGV\",\"thread\":7},\"threads\":[{"       \
    "\"tid\":"                                                                         \
    "7,\"crashed\":true,\"backtrace\":{\"frames\":[{\"kind\":\"pc\",\"address\":"      \
    "\"0x1f\",\"image\":0,\"image_offset\":\"0xf\"},{\"kind\":\"trunc\"}]}}],"         \
    "\"images\":[{\"base\":\"0x10\",\"path\":\"/x\"}]}"

static enum ch_status read_case(const char *name, json_t **out)
{
    char path[256];
    struct report_error error;
    (void)snprintf(path, sizeof(path), "%s/%s", CASES, name);
    int fd = open(path, O_RDONLY);
    enum ch_status status = report_read(fd, out, &error);
    (void)close(fd);
    return status;
}

static enum ch_status parse(const char *bytes, struct report_error *error)
{
    json_t *report = NULL;
    enum ch_status status = report_parse(bytes, strlen(bytes), &report, error);
    if (status == CH_OK)
        json_decref(report);
    return status;
}

static void report_reads_every_case(void **state)
{
    (void)state;
    static const char *const cases[] = { "raw.json", "named.json", "hostile.json" };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report = NULL;
        enum ch_status status = read_case(cases[i], &report);
        json_decref(report);
        assert_int_equal(status, CH_OK);
    }
}

static void report_fingerprint_is_the_one_in_the_cases(void **state)
{
    (void)state;
    static const char *const cases[] = { "raw.json", "named.json" };
    for (size_t i = 0; i < 2; i++) {
        json_t *report = NULL;
        char key[FINGERPRINT_SIZE] = "";
        assert_int_equal(read_case(cases[i], &report), CH_OK);
        bool crashed = report_fingerprint(report, key);
        bool equal = strcmp(key, report_string(report, "fingerprint")) == 0;
        json_decref(report);
        assert_true(crashed);
        assert_true(equal);
    }
}

static void report_keeps_keys_it_does_not_know(void **state)
{
    (void)state;
    json_t *report = NULL;
    struct report_error error;
    struct text out = { 0 };
    char changed[] = SMALL;
    memcpy(strstr(changed, "\"threads\""), "\"future9\"", 9);
    assert_int_equal(parse(changed, &error), CH_ERR_MALFORMED);
    assert_string_equal(error.text, "threads is missing");

    assert_int_equal(report_parse(SMALL, strlen(SMALL), &report, &error), CH_OK);
    json_object_set_new(report, "future", json_true());
    enum ch_status status = report_print(report, &out);
    bool kept = strstr(out.bytes, "\"future\":true}\n") != NULL;
    text_deinit(&out);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(kept);
}

static void report_says_what_is_wrong_and_where(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to;
        const char *says;
    } mistakes[] = {
        { "\"tid\":7", "\"tid\":\"7\"", "threads[0].tid is not a whole number" },
        { "\"image\":0", "\"image\":1",
          "threads[0].frames[0].image is not in the list of images" },
        { "\"address\":\"0x1f\"", "\"address\":\"0x1F\"",
          "threads[0].frames[0].address is not an address such as \"0x1f\"" },
        { "\"address\":\"0x1f\",", "", "threads[0].frames[0].address is missing" },
        { "\"base\":\"0x10\"", "\"base\":\"0x10000000000000000\"",
          "images[0].base is not an address such as \"0x1f\"" },
        { "\"signal\":11", "\"signal\":null", "crash.signal is missing" },
        { "\"signal\":11", "\"code\":\"1\",\"signal\":11",
          "crash.code is not a whole number" },
        { "report/1", "report/3",
          "its schema is neither crashhook.report/2 nor crashhook.report/1" },
        { "01928374", "0192837/", "id is not a UUID in lower case" },
        { "\"revision\":0", "\"revision\":0,\"revision\":1",
          "it is not JSON: duplicate object key near '\"revision\"' at byte 98" },
    };
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        char input[1024];
        struct report_error error = { "" };
        const char *at = strstr(SMALL, mistakes[i].from);
        (void)snprintf(input, sizeof(input), "%.*s%s%s", (int)(at - SMALL), SMALL,
                       mistakes[i].to, at + strlen(mistakes[i].from));
        assert_int_not_equal(parse(input, &error), CH_OK);
        assert_string_equal(error.text, mistakes[i].says);
    }
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    json_t *report = NULL;
    struct report_error error = { "" };
    char key[FINGERPRINT_SIZE];
    enum ch_status status = report_parse((const char *)bytes, size, &report, &error);
    if (status != CH_OK)
        return error.text[0] == 0 || strchr(error.text, '\n') != NULL;
    (void)report_fingerprint(report, key);
    json_decref(report);
    return context != NULL; // cut anywhere, it is no report
}

static void report_refuses_every_truncation(void **state)
{
    (void)state;
    assert_int_equal(
        bytes_cut_everywhere((const uint8_t *)SMALL, strlen(SMALL), visit, &(int){ 1 }),
        0);
}

static void report_survives_every_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(
        bytes_flip_every_bit((const uint8_t *)SMALL, strlen(SMALL), visit, NULL), 0);
}

static void report_refuses_deep_nesting(void **state)
{
    (void)state;
    struct report_error error;
    char *deep = malloc(1 << 20);
    assert_non_null(deep);
    memset(deep, '[', (1 << 20) - 1);
    deep[(1 << 20) - 1] = 0;
    enum ch_status status = parse(deep, &error);
    free(deep);
    assert_int_equal(status, CH_ERR_MALFORMED);
}

static void report_accessors_take_what_is_missing(void **state)
{
    (void)state;
    uint64_t address;
    assert_null(report_string(NULL, "x"));
    assert_int_equal(report_integer(NULL, "x", 3), 3);
    assert_false(report_address(NULL, "x", &address));
    assert_null(report_crashed_thread(NULL));
    assert_null(report_frames(NULL));
    assert_null(report_image(NULL, NULL));
    assert_false(report_frame_is_code(NULL));
}

static void calls_from_one_place_are_of_one_function_at_one_address(void **state)
{
    (void)state;
    json_t *frames = json_loads("[{\"address\":\"0x10\",\"function\":\"f\"},"
                                "{\"address\":\"0x10\",\"function\":\"f\"},"
                                "{\"address\":\"0x10\",\"function\":\"inlined\"},"
                                "{\"address\":\"0x10\"},{\"address\":\"0x18\"},"
                                "{\"kind\":\"omit\"},{\"kind\":\"omit\"}]",
                                0, NULL);
    bool same[6];
    for (size_t i = 0; i < 6; i++)
        same[i] =
            report_same_place(json_array_get(frames, i), json_array_get(frames, i + 1));
    bool itself =
        report_same_place(json_array_get(frames, 5), json_array_get(frames, 5));
    json_decref(frames);
    static const bool wanted[6] = { true };
    assert_memory_equal(same, wanted, sizeof(same));
    assert_true(itself);
}

static const char *unsaid(const char *json)
{
    static char kept[64];
    json_t *crash = json_loads(json, 0, NULL);
    const char *message = report_unsaid_message(crash);
    snprintf(kept, sizeof(kept), "%s", message != NULL ? message : "");
    json_decref(crash);
    return kept;
}

static void report_message_is_not_repeated_where_the_summary_has_it(void **state)
{
    (void)state;
    assert_string_equal(unsaid("{\"summary\":\"Heap corruption: free(): invalid\","
                               "\"message\":\"free(): invalid\"}"),
                        "");
    assert_string_equal(unsaid("{\"summary\":\"Uncaught exception x\","
                               "\"message\":\"uncaught exception x\"}"),
                        "");
    assert_string_equal(unsaid("{\"summary\":\"aborted\",\"message\":\"why\"}"), "why");
    assert_string_equal(unsaid("{\"message\":\"why\"}"), "why");
    assert_string_equal(unsaid("{}"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_reads_every_case),
        cmocka_unit_test(report_fingerprint_is_the_one_in_the_cases),
        cmocka_unit_test(report_keeps_keys_it_does_not_know),
        cmocka_unit_test(report_says_what_is_wrong_and_where),
        cmocka_unit_test(report_refuses_every_truncation),
        cmocka_unit_test(report_survives_every_flipped_bit),
        cmocka_unit_test(report_refuses_deep_nesting),
        cmocka_unit_test(report_accessors_take_what_is_missing),
        cmocka_unit_test(calls_from_one_place_are_of_one_function_at_one_address),
        cmocka_unit_test(report_message_is_not_repeated_where_the_summary_has_it),
    };
    return cmocka_run_group_tests_name("report/report", tests, NULL, NULL);
}
