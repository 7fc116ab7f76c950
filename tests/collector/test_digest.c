// SPDX-License-Identifier: Apache-2.0
#include "collector/digest.h"

#include <stdio.h>

#include "collector/digest_check.h"
#include "support/bytes.h"
#include "support/test.h"

enum { ROOM = 1 << 16 };

static char text[ROOM];

// A report that says everything the digest looks at.
#define HEAD                                                                           \
    "{\"schema\":\"crashhook.report/1\",\"id\":\"00000000-0000-7000-8000-"             \
    "000000000001\",\"revision\":1,\"time\":\"2026-01-02T03:04:05Z\","
#define CRASH                                                                          \
    "\"crash\":{\"signal\":11,\"name\":\"SIGSEGV\",\"thread\":1,\"kind\":\"k\","       \
    "\"summary\":\"\\u00e9 \\\"\xc3\xa9\\n\"},"
#define FRAME "{\"kind\":\"pc\",\"address\":\"0x1f\",\"image\":0,\"function\":\"f\"}"
#define THREADS(frame)                                                                 \
    "\"threads\":[{\"tid\":2,\"backtrace\":{\"frames\":[]}},{\"tid\":1,\"registers\":" \
    "{\"a\":1.5},\"backtrace\":{\"frames\":[" frame "]},\"crashed\":true}],"
#define IMAGES "\"images\":[{\"base\":\"0x10\",\"path\":\"/p\"}]"
#define TAGS "\"tags\":{\"a\":\"b\",\"c\":[{\"d\":{}}]},"
#define SPOOL "\"spool\":{\"held_back_by_fingerprint\":{\"33012e5d\":3}},"
#define WHOLE HEAD CRASH TAGS SPOOL THREADS(FRAME) IMAGES "} \n"

static enum digest_verdict verdict_of(const char *json)
{
    return digest_check((const uint8_t *)json, strlen(json));
}

static const char *read_case(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), CASES "/%s.json", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        abort();
    text[fread(text, 1, ROOM - 1, file)] = 0;
    (void)fclose(file);
    return text;
}

static void digest_says_of_reports_what_all_of_them_says(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(WHOLE), DIGEST_AGREES);
    assert_int_equal(verdict_of(read_case("raw")), DIGEST_AGREES);
    assert_int_equal(verdict_of(read_case("named")), DIGEST_AGREES);
    assert_int_not_equal(verdict_of(read_case("hostile")), DIGEST_DISAGREES);
}

static void digest_is_a_fraction_of_the_report(void **state)
{
    (void)state;
    struct text out = { 0 };
    const char *json = read_case("named");
    bool ok = digest_report(json, strlen(json), &out);
    size_t size = out.size;
    text_deinit(&out);
    assert_true(ok);
    assert_true(size < strlen(json) / 3);
}

static void digest_keeps_the_first_thread_that_crashed_alone(void **state)
{
    (void)state;
    struct text out = { 0 };
    const char *json =
        HEAD "\"threads\":[{\"tid\":3},{\"tid\":1,\"crashed\":true,\"backtrace\":"
             "{\"frames\":[]}},{\"tid\":2,\"crashed\":true}],\"images\":[]}";
    bool ok = digest_report(json, strlen(json), &out);
    bool one =
        ok &&
        strstr(out.bytes, "\"threads\":[{\"crashed\":true,\"backtrace\":{\"frames\":[]"
                          "}}],\"images\":[]}") != NULL;
    text_deinit(&out);
    assert_true(ok);
    assert_true(one);
}

// Each of these report_parse refuses, so the digest must not accept it.
static void digest_accepts_nothing_that_report_parse_refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "null",
        WHOLE "x",
        HEAD THREADS(FRAME) IMAGES,
        HEAD THREADS(FRAME) IMAGES ",}",
        HEAD "\"revision\":1," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":1,\"x\":2," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":{\"y\":1,\"\\u0079\":2}," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":01," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":1.," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":tru," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":99999999999999999999," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":1e999," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":[1 2]," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":[1,]," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":[}," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\t\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\\x\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\\u0000\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\\ud800\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\xc0\x80\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\xed\xa0\x80\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"x\":\"\xf4\x90\x80\x80\"," THREADS(FRAME) IMAGES "}",
        HEAD "\"release\":1," THREADS(FRAME) IMAGES "}",
        HEAD "\"crash\":{}," THREADS(FRAME) IMAGES "}",
        HEAD "\"crash\":{\"signal\":1.5,\"name\":\"\",\"thread\":1}," THREADS(FRAME)
            IMAGES "}",
        HEAD "\"process\":{\"pid\":\"\"}," THREADS(FRAME) IMAGES "}",
        HEAD "\"problems\":[{}]," THREADS(FRAME) IMAGES "}",
        HEAD "\"problems\":[1]," THREADS(FRAME) IMAGES "}",
        HEAD THREADS("{}") IMAGES "}",
        HEAD THREADS("null") IMAGES "}",
        HEAD THREADS("{\"kind\":\"pc\"}") IMAGES "}",
        HEAD THREADS("{\"kind\":\"pc\",\"address\":null}") IMAGES "}",
        HEAD THREADS("{\"kind\":\"pc\",\"address\":\"0xF\"}") IMAGES "}",
        HEAD THREADS("{\"kind\":\"pc\",\"address\":\"0x\"}") IMAGES "}",
        HEAD THREADS("{\"kind\":\"omit\",\"image\":1}") IMAGES "}",
        HEAD THREADS("{\"kind\":\"omit\",\"image\":-1}") IMAGES "}",
        HEAD "\"threads\":[{}]," IMAGES "}",
        HEAD "\"threads\":null," IMAGES "}",
        HEAD "\"threads\":[],\"images\":[{}]}",
        "{\"schema\":\"crashhook.report/2\",\"id\":\"00000000-0000-7000-8000-"
        "000000000001\",\"revision\":1,\"time\":\"\",\"threads\":[],\"images\":[]}",
        "{\"schema\":\"crashhook.report/1\",\"id\":\"../000000-0000-7000-8000-"
        "000000000001\",\"revision\":1,\"time\":\"\",\"threads\":[],\"images\":[]}",
    };
    size_t accepted = 0;
    size_t parsed = 0;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct text out = { 0 };
        struct report_error error;
        json_t *report = NULL;
        accepted += digest_report(wrong[i], strlen(wrong[i]), &out);
        parsed += report_parse(wrong[i], strlen(wrong[i]), &report, &error) == CH_OK;
        text_deinit(&out);
        json_decref(report);
    }
    assert_int_equal(parsed, 0);
    assert_int_equal(accepted, 0);
}

static void digest_stops_at_depth_without_an_end(void **state)
{
    (void)state;
    memset(text, '[', ROOM - 1);
    text[ROOM - 1] = 0;
    assert_int_equal(verdict_of(text), DIGEST_SILENT);
    size_t head = (size_t)snprintf(text, ROOM, HEAD "\"x\":");
    memset(text + head, '[', ROOM - 1 - head);
    assert_int_equal(verdict_of(text), DIGEST_SILENT);

    // JSON all the same, which is read whole.
    memset(text + head, '[', 100);
    memset(text + head + 100, ']', 100);
    (void)snprintf(text + head + 200, ROOM - head - 200, "," THREADS(FRAME) IMAGES "}");
    struct report_error error;
    json_t *report = NULL;
    enum ch_status status = report_parse(text, strlen(text), &report, &error);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_int_equal(verdict_of(text), DIGEST_SILENT);
}

static int is_accepted(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    return digest_check(bytes, size) != DIGEST_SILENT;
}

static int disagrees(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    return digest_check(bytes, size) == DIGEST_DISAGREES;
}

static void digest_accepts_no_report_that_is_cut(void **state)
{
    (void)state;
    const char *json = read_case("raw");
    assert_int_equal(bytes_cut_everywhere((const uint8_t *)json, strlen(json) - 2,
                                          is_accepted, NULL),
                     0);
}

static void digest_agrees_about_every_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(
        bytes_flip_every_bit((const uint8_t *)WHOLE, strlen(WHOLE), disagrees, NULL),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_says_of_reports_what_all_of_them_says),
        cmocka_unit_test(digest_is_a_fraction_of_the_report),
        cmocka_unit_test(digest_keeps_the_first_thread_that_crashed_alone),
        cmocka_unit_test(digest_accepts_nothing_that_report_parse_refuses),
        cmocka_unit_test(digest_stops_at_depth_without_an_end),
        cmocka_unit_test(digest_accepts_no_report_that_is_cut),
        cmocka_unit_test(digest_agrees_about_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("collector/digest", tests, NULL, NULL);
}
