// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "report/value/report.h"
#include "support/child.h"
#include "support/test.h"

// INNERMOST_BYTES is how long innermost_sleep may be, with what a sanitizer adds, or
// the counting of lines.
#ifdef CRASHHOOK_COUNTED
enum { INNERMOST_BYTES = 256 };
#else
enum { INNERMOST_BYTES = CRASHHOOK_SANITIZED ? 1024 : 128 };
#endif

static int go_fd;
static int ready_fd;

__attribute__((noinline)) static void *innermost_sleep(void *context)
{
    char byte;
    (void)context;
    pthread_setname_np(pthread_self(), "reader \"x\"");
    child_say_ready(ready_fd);
    // Twice, so that the call is no tail call and this frame stays.
    while (read(go_fd, &byte, 1) < 0)
        continue;
    return NULL;
}

static int sleep_in_two_threads(int ready, int go)
{
    pthread_t thread;
    go_fd = go;
    ready_fd = ready;
    if (pthread_create(&thread, NULL, innermost_sleep, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}

static const char *no_variable(void *context, const char *variable)
{
    (void)context;
    (void)variable;
    return NULL;
}

// has_frame_in says whether some frame's address lies within size bytes of start.
static bool has_frame_in(json_t *thread, uint64_t start, uint64_t size)
{
    size_t index;
    json_t *frame;
    json_t *frames = json_object_get(json_object_get(thread, "backtrace"), "frames");
    json_array_foreach(frames, index, frame)
    {
        const char *address = json_string_value(json_object_get(frame, "address"));
        uint64_t value = address != NULL ? strtoull(address, NULL, 16) : 0;
        if (value >= start && value - start < size)
            return true;
    }
    return false;
}

static void attach_reports_every_thread_and_lets_the_process_go_on(void **state)
{
    (void)state;
    struct settings settings;
    struct text out = { 0 };
    struct report_error error;
    struct child child = child_start(sleep_in_two_threads);

    settings_read(&settings, no_variable, NULL, NULL);
    enum ch_status status = attach_report(child.pid, &settings, "/root", &out, NULL);
    json_t *report = NULL;
    if (status == CH_OK)
        status = report_parse(out.bytes, out.size, &report, &error);
    text_deinit(&out);
    ssize_t wrote = write(child.go, "x", 1);
    int ended = child_end(&child, false);

    assert_int_equal(status, CH_OK);
    assert_int_equal(wrote, 1);
    assert_int_equal(WEXITSTATUS(ended), 0);
    assert_non_null(report);
    json_t *threads = json_object_get(report, "threads");
    json_t *reader = json_array_get(threads, 1);
    assert_int_equal(json_array_size(threads), 2);
    assert_string_equal(json_string_value(json_object_get(reader, "name")),
                        "reader \"x\"");
    assert_true(
        has_frame_in(reader, (uint64_t)(uintptr_t)innermost_sleep, INNERMOST_BYTES));
    assert_null(json_object_get(report, "crash"));
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(reader, "backtrace"), "ended")),
                        "end-of-stack");
    json_decref(report);
}

static void attach_says_when_there_is_no_such_process(void **state)
{
    (void)state;
    struct settings settings;
    struct text out = { 0 };
    settings_read(&settings, no_variable, NULL, NULL);
    // Process ids stay below 2^22 on Linux.
    enum ch_status status = attach_report(1 << 23, &settings, NULL, &out, NULL);
    text_deinit(&out);
    assert_int_equal(status, CH_ERR_IO);
}

static int exit_at_once(int ready, int go)
{
    (void)go;
    child_say_ready(ready);
    return 0;
}

static void attach_says_so_of_a_process_that_has_exited(void **state)
{
    (void)state;
    struct settings settings;
    struct text out = { 0 };
    struct child child = child_start(exit_at_once);
    siginfo_t info;
    settings_read(&settings, no_variable, NULL, NULL);
    // It has exited, and stays a zombie until its parent asks.
    int waited = waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
    enum ch_status status = attach_report(child.pid, &settings, NULL, &out, NULL);
    int error = errno;
    text_deinit(&out);
    child_end(&child, false);

    assert_int_equal(waited, 0);
    assert_int_equal(status, CH_ERR_IO);
    assert_int_equal(error, ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attach_reports_every_thread_and_lets_the_process_go_on),
        cmocka_unit_test(attach_says_when_there_is_no_such_process),
        cmocka_unit_test(attach_says_so_of_a_process_that_has_exited),
    };
    return cmocka_run_group_tests_name("agent/attach", tests, NULL, NULL);
}
