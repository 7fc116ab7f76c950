// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/child.h"
#include "support/test.h"

static int ready[2];
static int work[2];

static void *wait_for_work(void *out)
{
    char byte;
    pid_t tid = gettid();
    bool worked = write(ready[1], &tid, sizeof(tid)) == sizeof(tid) &&
                  read(work[0], &byte, 1) == 1;
    *(bool *)out = worked;
    return NULL;
}

static bool has_function(const struct crashhook_backtrace *backtrace, const char *name)
{
    struct crashhook_symbolicated_backtrace *named;
    bool found = false;
    if (crashhook_backtrace_symbolicate(backtrace, NULL, 0, &named) != 0)
        return false;
    for (size_t i = 0; i < crashhook_symbolicated_backtrace_count(named); i++) {
        const struct crashhook_symbol *symbol =
            crashhook_symbolicated_backtrace_at(named, i)->symbol;
        found = found || (symbol != NULL && strcmp(symbol->name, name) == 0);
    }
    crashhook_symbolicated_backtrace_destroy(named);
    return found;
}

static void a_thread_is_seen_in_its_call_and_goes_on(void **state)
{
    (void)state;
    pthread_t worker;
    pid_t tid = 0;
    bool worked = false;
    struct crashhook_backtrace *backtrace = NULL;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(work), 0);
    assert_int_equal(pthread_create(&worker, NULL, wait_for_work, &worked), 0);
    assert_int_equal(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
    child_await_sleep(getpid(), tid);
    int error = crashhook_backtrace_capture_thread(tid, NULL, &backtrace);
    bool found = error == 0 && has_function(backtrace, "wait_for_work");
    assert_int_equal(write(work[1], "w", 1), 1);
    pthread_join(worker, NULL);
    crashhook_backtrace_destroy(backtrace);
    if (error == EPERM)
        test_skip("this place lets nobody trace");
    assert_int_equal(error, 0);
    assert_true(found);
    assert_true(worked);
}

__attribute__((noinline)) static int wait_in_child(int say, int go)
{
    char byte;
    child_say_ready(say);
    return read(go, &byte, 1) == 1 ? 42 : 1;
}

static void a_process_is_seen_and_goes_on(void **state)
{
    (void)state;
    struct crashhook_backtrace *backtrace = NULL;
    struct child child = child_start(wait_in_child);
    child_await_sleep(child.pid, child.pid);
    int error = crashhook_backtrace_capture_process(child.pid, 0, NULL, &backtrace);
    bool found = error == 0 && has_function(backtrace, "wait_in_child");
    crashhook_backtrace_destroy(backtrace);
    bool told = write(child.go, "g", 1) == 1;
    int status = child_end(&child, false);
    if (error == EPERM)
        test_skip("this place lets nobody trace");
    assert_int_equal(error, 0);
    assert_true(found && told);
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void who_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct crashhook_backtrace *backtrace;
    int error = crashhook_backtrace_capture_thread(1 << 30, NULL, &backtrace);
    if (error == EPERM)
        test_skip("this place lets nobody trace");
    assert_int_equal(error, ESRCH);
    assert_int_equal(crashhook_backtrace_capture_process(1 << 30, 0, NULL, &backtrace),
                     ESRCH);
    assert_int_equal(crashhook_backtrace_capture_thread(gettid(), NULL, &backtrace),
                     EINVAL);
}

static void no_child_and_no_signal_mask_is_left_behind(void **state)
{
    (void)state;
    struct crashhook_backtrace *backtrace;
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    (void)crashhook_backtrace_capture_thread(1 << 30, NULL, &backtrace);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < SIGRTMIN; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_seen_in_its_call_and_goes_on),
        cmocka_unit_test(a_process_is_seen_and_goes_on),
        cmocka_unit_test(who_is_not_there_is_not_found),
        cmocka_unit_test(no_child_and_no_signal_mask_is_left_behind),
    };
    return cmocka_run_group_tests_name("backtrace/remote", tests, NULL, NULL);
}
