// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <jansson.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

// has_frame_in returns true if some frame's address lies within size bytes of start.
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

// skip_under_a_filter leaves a test of a snapshot that would be refused before it is
// made.
static void skip_under_a_filter(void)
{
    if (prctl(PR_GET_SECCOMP) != 0)
        test_skip("a seccomp filter is on here");
}

static void a_snapshot_does_that_too_and_leaves_the_process_no_child(void **state)
{
    (void)state;
    skip_under_a_filter();
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

extern const ptrdiff_t __rseq_offset __attribute__((weak)); // glibc's names
extern const unsigned __rseq_size __attribute__((weak));

static int *is_in_sequence; // shared with the child

// wait_in_a_sequence loops in a restartable sequence, which is aborted to its
// beginning.
static int wait_in_a_sequence(int ready, int go)
{
    char *area = (char *)(uintptr_t)pthread_self() + __rseq_offset;
    (void)go;
    child_say_ready(ready);
    __asm__ volatile(".pushsection .data.rel.rw, \"aw\"\n"
                     ".balign 32\n"
                     "1: .long 0, 0\n"
                     ".quad 3f, 4f - 3f, 5f\n"
                     ".popsection\n"
                     "jmp 5f\n"
                     ".long 0x53053053\n" // RSEQ_SIG
                     "5: lea 1b(%%rip), %%rax\n"
                     "mov %%rax, 8(%0)\n"
                     "3: movl $1, (%1)\n"
                     "jmp 3b\n"
                     "4:\n"
                     :
                     : "r"(area), "r"(is_in_sequence)
                     : "rax", "memory");
    return 1;
}

static void a_snapshot_is_not_made_by_a_thread_in_a_sequence(void **state)
{
    (void)state;
    struct settings settings;
    struct text out = { 0 };
    char why[SNAPSHOT_WHY_SIZE] = "";
    skip_under_a_filter();
    if (&__rseq_offset == NULL || __rseq_size == 0)
        test_skip("the C library registers no restartable sequences");
    is_in_sequence = mmap(NULL, sizeof(*is_in_sequence), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(is_in_sequence, MAP_FAILED);
    struct child child = child_start(wait_in_a_sequence);
    while (__atomic_load_n(is_in_sequence, __ATOMIC_RELAXED) == 0)
        (void)usleep(1000);
    settings_read(&settings, no_variable, NULL, NULL);
    enum ch_status status =
        attach_snapshot(child.pid, &settings, NULL, &out, NULL, why);
    text_deinit(&out);
    (void)child_end(&child, true);
    (void)munmap(is_in_sequence, sizeof(*is_in_sequence));
    assert_int_equal(status, CH_ERR_UNSUPPORTED);
    assert_non_null(strstr(why, "in a restartable sequence"));
}

static void a_snapshot_is_refused_where_a_fork_is_not_safe(void **state)
{
    (void)state;
    static const struct {
        int (*run)(int ready, int go);
        const char *why;
    } cases[] = { { wait_under_a_filter, "a seccomp filter" },
                  { wait_for_a_child_by_vfork, "a thread sleeps uninterruptibly" } };
    skip_under_a_filter();
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
        cmocka_unit_test(a_snapshot_is_not_made_by_a_thread_in_a_sequence),
#endif
        cmocka_unit_test(attach_says_when_there_is_no_such_process),
        cmocka_unit_test(attach_says_so_of_a_process_that_has_exited),
    };
    return cmocka_run_group_tests_name("agent/attach", tests, NULL, NULL);
}
