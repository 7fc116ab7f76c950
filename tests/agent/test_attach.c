// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <jansson.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
    // The call is not interrupted, and this frame stays: it is no tail call.
    return read(go_fd, &byte, 1) == 1 ? NULL : &go_fd;
}

static int sleep_in_two_threads(int ready, int go)
{
    pthread_t thread;
    go_fd = go;
    ready_fd = ready;
    if (pthread_create(&thread, NULL, innermost_sleep, NULL) != 0)
        return 1;
    void *failed = &thread;
    pthread_join(thread, &failed);
    bool has_child = waitpid(-1, NULL, __WALL | WNOHANG) >= 0 || errno != ECHILD;
    return failed != NULL || has_child;
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

static void expect_every_thread(bool snapshot)
{
    struct settings settings;
    struct text out = { 0 };
    struct report_error error;
    char why[SNAPSHOT_WHY_SIZE] = "";
    struct child child = child_start(sleep_in_two_threads);

    settings_read(&settings, no_variable, NULL, NULL);
    enum ch_status status =
        snapshot ? attach_snapshot(child.pid, &settings, "/root", &out, NULL, why)
                 : attach_report(child.pid, &settings, "/root", &out, NULL);
    json_t *report = NULL;
    if (status == CH_OK)
        status = report_parse(out.bytes, out.size, &report, &error);
    text_deinit(&out);
    ssize_t wrote = write(child.go, "x", 1);
    int ended = child_end(&child, false);

    assert_string_equal(why, "");
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

static void attach_reports_every_thread_and_lets_the_process_go_on(void **state)
{
    (void)state;
    expect_every_thread(false);
}

#if defined(__x86_64__)

static void a_snapshot_does_that_too_and_leaves_the_process_no_child(void **state)
{
    (void)state;
    expect_every_thread(true);
}

static int wait_under_a_filter(int ready, int go)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { 1, &allow };
    char byte;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    child_say_ready(ready);
    return read(go, &byte, 1) != 1;
}

static int wait_for_a_child_by_vfork(int ready, int go)
{
    char byte;
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is the case
    pid_t child = vfork();
    if (child == 0) {
        child_say_ready(ready);
        _exit(read(go, &byte, 1) != 1);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    return status;
}

static void a_snapshot_is_refused_where_a_fork_is_not_safe(void **state)
{
    (void)state;
    static const struct {
        int (*run)(int ready, int go);
        const char *why;
    } cases[] = { { wait_under_a_filter, "a seccomp filter" },
                  { wait_for_a_child_by_vfork, "a thread sleeps uninterruptibly" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings settings;
        struct text out = { 0 };
        char why[SNAPSHOT_WHY_SIZE] = "";
        struct child child = child_start(cases[i].run);
        settings_read(&settings, no_variable, NULL, NULL);
        enum ch_status status =
            attach_snapshot(child.pid, &settings, NULL, &out, NULL, why);
        text_deinit(&out);
        ssize_t wrote = write(child.go, "x", 1);
        int ended = child_end(&child, false);

        assert_int_equal(status, CH_ERR_UNSUPPORTED);
        assert_non_null(strstr(why, cases[i].why));
        assert_int_equal(wrote, 1);
        assert_int_equal(ended, 0);
    }
}

#endif

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
#if defined(__x86_64__)
        cmocka_unit_test(a_snapshot_does_that_too_and_leaves_the_process_no_child),
        cmocka_unit_test(a_snapshot_is_refused_where_a_fork_is_not_safe),
#endif
        cmocka_unit_test(attach_says_when_there_is_no_such_process),
        cmocka_unit_test(attach_says_so_of_a_process_that_has_exited),
    };
    return cmocka_run_group_tests_name("agent/attach", tests, NULL, NULL);
}
