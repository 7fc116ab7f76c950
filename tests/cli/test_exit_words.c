// SPDX-License-Identifier: Apache-2.0
#include "cli/session/exit_words.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

static const char whole[] = "crashhook words 1\n"
                            "kind: panic\n"
                            "pid: 4256\n"
                            "status: 101\n"
                            "executable: /usr/bin/shop\n"
                            "message: no such page\n"
                            "colour: red\n"
                            "\n"
                            "thread main panicked\n"
                            "   0: find_page\n";

static enum ch_status read_words(const char *text, size_t size, struct exit_words *out)
{
    int fd = memfd_create("words", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    enum ch_status status = exit_words_read(fd, out);
    close(fd);
    return status;
}

static void words_have_what_their_head_names_and_the_text(void **state)
{
    (void)state;
    struct exit_words words;
    assert_int_equal(read_words(whole, strlen(whole), &words), CH_OK);
    assert_int_equal(words.kind, CRASH_KIND_PANIC);
    assert_int_equal(words.pid, 4256);
    assert_int_equal(words.status, 101);
    assert_string_equal(words.executable, "/usr/bin/shop");
    assert_string_equal(words.message, "no such page");
    assert_null(words.release);
    assert_string_equal(words.said, "thread main panicked\n   0: find_page\n");
    exit_words_deinit(&words);
}

static void frames_become_those_of_the_exception(void **state)
{
    (void)state;
    static const char text[] = "crashhook words 1\nmessage: KeyError: 'a'\n"
                               "type: KeyError\nlanguage: python\nhome: /home/kim\n"
                               "frame: <lambda> at /home/kim/a b.py:12\nframe: main\n"
                               "frame: \xff at x:1\n\nTraceback\n";
    struct exit_words words;
    json_t *report = json_pack("{s:{s:s}}", "crash", "message", "KeyError: 'a'");
    assert_int_equal(read_words(text, strlen(text), &words), CH_OK);
    exit_words_add(&words, words.home, report);
    exit_words_deinit(&words);
    json_t *wanted = json_loads(
        "{\"type\":\"KeyError\",\"what\":\"'a'\",\"stack\":["
        "{\"kind\":\"ra\",\"function\":\"<lambda>\",\"file\":\"~/a b.py\",\"line\":12,"
        "\"language\":\"python\",\"source\":\"interpreter\",\"inline\":true},"
        "{\"kind\":\"ra\",\"function\":\"main\",\"language\":\"python\","
        "\"source\":\"interpreter\",\"inline\":true}]}",
        0, NULL);
    int same = json_equal(
        json_object_get(json_object_get(report, "crash"), "exception"), wanted);
    json_decref(report);
    json_decref(wanted);
    assert_true(same);
}

static void words_without_a_head_are_judged_by_their_text(void **state)
{
    (void)state;
    static const char text[] =
        "crashhook words 1\nstatus: 2\n\npanic: no page\n\ngoroutine 1\n";
    struct exit_words words;
    assert_int_equal(read_words(text, strlen(text), &words), CH_OK);
    assert_int_equal(words.kind, CRASH_KIND_PANIC);
    assert_string_equal(words.message, "panic: no page");
    exit_words_deinit(&words);
}

static void words_that_are_cut_anywhere_are_none_or_fewer(void **state)
{
    (void)state;
    for (size_t size = 0; size < strlen(whole); size++) {
        struct exit_words words;
        enum ch_status status = read_words(whole, size, &words);
        if (status != CH_OK) {
            assert_int_equal(status, CH_ERR_MALFORMED);
            assert_true(size < strlen("crashhook words 1\n"));
            continue;
        }
        assert_true(strlen(words.said) <= size);
        exit_words_deinit(&words);
    }
}

static void numbers_out_of_range_are_as_if_they_were_not_there(void **state)
{
    (void)state;
    static const char text[] =
        "crashhook words 1\npid: 99999999999\nstatus: 256\n\nx\n";
    struct exit_words words;
    assert_int_equal(read_words(text, strlen(text), &words), CH_OK);
    assert_int_equal(words.pid, 0);
    assert_int_equal(words.status, -1);
    assert_int_equal(words.kind, CRASH_KIND_FATAL_EXIT);
    assert_string_equal(words.message, "x");
    exit_words_deinit(&words);
}

static void more_text_than_the_limit_is_cut(void **state)
{
    (void)state;
    static char text[1 << 20];
    struct exit_words words;
    memset(text, 'a', sizeof(text));
    memcpy(text, "crashhook words 1\n\n", strlen("crashhook words 1\n\n"));
    assert_int_equal(read_words(text, sizeof(text), &words), CH_OK);
    assert_true(strlen(words.said) < 64 << 10);
    exit_words_deinit(&words);
}

static void runtimes_are_known_by_the_lines_that_end_their_programs(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *said;
        enum crash_kind kind; // CRASH_KIND_NONE: it is no end that a runtime reports
        const char *message;
    } ends[] = {
        { 1, "raised CONSTRAINT_ERROR : demo.adb:7 index check failed\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "raised CONSTRAINT_ERROR : demo.adb:7 index check failed" },
        { 1, "core.exception.ArrayIndexError@demo.d(4): index [7] is out of bounds\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "core.exception.ArrayIndexError@demo.d(4): index [7] is out of bounds" },
        { 2, "Fatal error: exception Not_found\n", CRASH_KIND_UNCAUGHT_EXCEPTION,
          "Fatal error: exception Not_found" },
        { 217, "An unhandled exception occurred at $00401234:\nEDivByZero: by zero\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "An unhandled exception occurred at $00401234:\nEDivByZero: by zero" },
        { 2, "Fortran runtime error: End of file\n", CRASH_KIND_FATAL_EXIT,
          "Fortran runtime error: End of file" },
        { 1,
          "demo: Prelude.head: empty list\nCallStack (from HasCallStack):\n  error, "
          "called at x.hs:3\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION, "demo: Prelude.head: empty list" },
        { 1,
          "demo: Uncaught exception ghc-internal:GHC.Internal.Exception.ErrorCall:\n\n"
          "no page\n\nHasCallStack backtrace:\n  error, called at x.hs:3\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "demo: Uncaught exception ghc-internal:GHC.Internal.Exception.ErrorCall:\n\n"
          "no page" },
        { 1, "demo.nim(3) demo\nError: unhandled exception: no page [ValueError]\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "Error: unhandled exception: no page [ValueError]" },
        { 1,
          "error: FileNotFound\n/lib/zig/std/posix.zig:1789:23: 0x10489c5 in openZ "
          "(demo)\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION, "error: FileNotFound" },
        { 1, "error: no such file\nsee demo --help\n", CRASH_KIND_NONE, "" },
        { 1, "** (RuntimeError) no page\n    demo.exs:3: (file)\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION, "** (RuntimeError) no page" },
        { 1, "Exception in thread \"main\" java.lang.Error: no page\n\tat Demo.main\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "Exception in thread \"main\" java.lang.Error: no page" },
        { 134, "Unhandled exception. System.Exception: no page\n   at Demo.Main()\n",
          CRASH_KIND_UNCAUGHT_EXCEPTION,
          "Unhandled exception. System.Exception: no page" },
        { 255, "no page at demo.pl line 3.\n", CRASH_KIND_UNCAUGHT_EXCEPTION,
          "no page at demo.pl line 3." },
        { 1, "no page at demo.pl line 3.\n", CRASH_KIND_NONE, "" },
    };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct last_words words;
        char message[200] = "";
        last_words_find(ends[i].said, ends[i].status, &words);
        memcpy(message, words.text != NULL ? words.text : "", words.size);
        assert_int_equal(words.kind, ends[i].kind);
        assert_string_equal(message, ends[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_what_their_head_names_and_the_text),
        cmocka_unit_test(frames_become_those_of_the_exception),
        cmocka_unit_test(words_without_a_head_are_judged_by_their_text),
        cmocka_unit_test(runtimes_are_known_by_the_lines_that_end_their_programs),
        cmocka_unit_test(words_that_are_cut_anywhere_are_none_or_fewer),
        cmocka_unit_test(numbers_out_of_range_are_as_if_they_were_not_there),
        cmocka_unit_test(more_text_than_the_limit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
