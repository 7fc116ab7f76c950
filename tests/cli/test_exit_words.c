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
    assert_string_equal(words.kind, "panic");
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
    assert_string_equal(words.kind, "panic");
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
    assert_string_equal(words.kind, "fatal-exit");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_what_their_head_names_and_the_text),
        cmocka_unit_test(frames_become_those_of_the_exception),
        cmocka_unit_test(words_without_a_head_are_judged_by_their_text),
        cmocka_unit_test(words_that_are_cut_anywhere_are_none_or_fewer),
        cmocka_unit_test(numbers_out_of_range_are_as_if_they_were_not_there),
        cmocka_unit_test(more_text_than_the_limit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
