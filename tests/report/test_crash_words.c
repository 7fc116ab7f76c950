// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/value/report.h"
#include "support/test.h"

// A report with a crash as the agent writes it.
static json_t *report_with(const char *crash)
{
    json_t *report =
        json_pack("{s:{s:i}, s:[{s:b, s:s, s:{s:s}}]}", "process", "pid", 7, "threads",
                  "crashed", 1, "name", "worker", "registers", "rip", "0x401000");
    json_object_set_new(report, "crash", json_loads(crash, 0, NULL));
    return report;
}

static void crash_is_worded_from_its_facts(void **state)
{
    (void)state;
    static const struct {
        const char *crash;
        const char *summary;
    } cases[] = {
        { "{\"signal\":11,\"kind\":\"null-dereference\",\"address\":\"0x18\","
          "\"access\":{\"operation\":\"read\",\"size\":8,\"expression\":\"rax+0x18\","
          "\"registers\":{\"rax\":\"0x0\"}}}",
          "Read from 0x18, through a null pointer (read 8 bytes at rax+0x18, rax = "
          "0x0)" },
        { "{\"signal\":11,\"kind\":\"write-to-read-only\",\"address\":\"0x7f00\","
          "\"access\":{\"operation\":\"write\"},\"region\":{\"state\":\"mapped\","
          "\"permissions\":\"r--\",\"path\":\"/x/y\"}}",
          "Write to 0x7f00, which is read-only memory '/x/y'" },
        { "{\"signal\":11,\"kind\":\"unknown\",\"address\":\"0x7f00\","
          "\"region\":{\"state\":\"mapped\",\"permissions\":\"---\"}}",
          "Access to 0x7f00, which may not be accessed" },
        { "{\"signal\":11,\"kind\":\"use-after-unmap\",\"address\":\"0x7f00\","
          "\"access\":{\"operation\":\"execute\"},\"region\":{\"state\":\"unmapped\"}}",
          "Jump to 0x7f00, where nothing is mapped; probably code that was "
          "unmapped" },
        { "{\"signal\":11,\"kind\":\"stack-overflow\",\"address\":\"0x7f00\","
          "\"stack\":{\"start\":\"0x8000\",\"end\":\"0x108000\"}}",
          "Stack overflow in thread 'worker' at 0x7f00: its stack has 1024 KiB" },
        { "{\"signal\":11,\"kind\":\"wild-jump\",\"address\":\"0x41\","
          "\"access\":{\"operation\":\"execute\"},"
          "\"target\":{\"by\":\"return\",\"address\":\"0x41\"}}",
          "Jump to 0x41, a small number and not an address; a return led there: its "
          "address was "
          "overwritten" },
        { "{\"signal\":31,\"kind\":\"seccomp\",\"system_call\":{\"number\":59,"
          "\"machine\":\"0xc000003e\",\"name\":\"execve\"}}",
          "System call 59 (execve) refused by a seccomp filter" },
        { "{\"signal\":11,\"kind\":\"sent-by-process\","
          "\"sender\":{\"pid\":9,\"uid\":3,\"name\":\"sh\"}}",
          "SIGSEGV sent by process 9 ('sh', user 3)" },
        { "{\"signal\":10,\"kind\":\"sent-by-process\",\"sender\":{\"pid\":7,\"uid\":3}"
          "}",
          "SIGUSR1 raised by the program itself" },
        { "{\"signal\":6,\"kind\":\"memory-limit\",\"memory_limit\":{"
          "\"name\":\"RLIMIT_AS\",\"limit_bytes\":1048576,\"used_bytes\":1000000}}",
          "The program aborted; 976 KiB of the 1024 KiB that RLIMIT_AS allows are in "
          "use" },
        { "{\"signal\":5,\"kind\":\"trap\"}", "Trap at 0x401000" },
        { "{\"signal\":6,\"kind\":\"uncaught-exception\",\"exception\":{\"type\":\"e\","
          "\"what\":\"w\",\"thrown_in\":{\"function\":\"f\"}}}",
          "Uncaught exception e: w, thrown in f" },
        { "{\"signal\":8,\"kind\":\"divide-by-zero\",\"code\":1,\"instruction\":{"
          "\"text\":\"idiv esi\"},\"register\":{\"name\":\"esi\",\"value\":\"0x0\"}}",
          "Integer division by zero (idiv esi, esi = 0x0)" },
        { "{}", "Signal at 0x401000" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report = report_with(cases[i].crash);
        char summary[256];
        crash_words_complete(report);
        (void)snprintf(summary, sizeof(summary), "%s",
                       report_string(json_object_get(report, "crash"), "summary"));
        crash_words_leave_out(report);
        bool left =
            json_object_get(json_object_get(report, "crash"), "summary") != NULL;
        json_decref(report);
        assert_string_equal(summary, cases[i].summary);
        assert_false(left);
    }
}

static void crash_message_of_an_exception_is_made_and_left_out(void **state)
{
    (void)state;
    json_t *report = report_with("{\"signal\":6,\"kind\":\"uncaught-exception\","
                                 "\"exception\":{\"type\":\"e\",\"what\":\"w\"}}");
    char message[64];
    crash_words_complete(report);
    (void)snprintf(message, sizeof(message), "%s",
                   report_string(json_object_get(report, "crash"), "message"));
    crash_words_leave_out(report);
    bool left = json_object_get(json_object_get(report, "crash"), "message") != NULL;
    json_decref(report);
    assert_string_equal(message, "uncaught exception e: w");
    assert_false(left);
}

static void crash_sentence_of_version_1_stays(void **state)
{
    (void)state;
    json_t *report =
        report_with("{\"signal\":11,\"kind\":\"unknown\",\"address\":\"0x9\","
                    "\"summary\":\"Said before\",\"message\":\"m\"}");
    char said[64];
    char message[64];
    crash_words_complete(report);
    crash_words_leave_out(report);
    const json_t *crash = json_object_get(report, "crash");
    (void)snprintf(said, sizeof(said), "%s", report_string(crash, "summary"));
    (void)snprintf(message, sizeof(message), "%s", report_string(crash, "message"));
    char *begun = crash_words_begun(report);
    bool told = begun != NULL && strcmp(begun, "Said before") == 0;
    free(begun);
    json_decref(report);
    assert_string_equal(said, "Said before");
    assert_string_equal(message, "m");
    assert_true(told);
}

static void crash_words_of_what_is_no_crash_are_none(void **state)
{
    (void)state;
    json_t *report = json_object();
    crash_words_complete(report);
    crash_words_leave_out(report);
    bool none = json_object_size(report) == 0 && crash_words_begun(report) == NULL;
    json_decref(report);
    assert_true(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_is_worded_from_its_facts),
        cmocka_unit_test(crash_message_of_an_exception_is_made_and_left_out),
        cmocka_unit_test(crash_sentence_of_version_1_stays),
        cmocka_unit_test(crash_words_of_what_is_no_crash_are_none),
    };
    return cmocka_run_group_tests_name("report/crash_words", tests, NULL, NULL);
}
