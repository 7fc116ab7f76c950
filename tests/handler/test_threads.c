// SPDX-License-Identifier: Apache-2.0
//
// Crashes of threads: on any of them, of many at once, of a stack that is full, and of
// processes made by fork.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "handler/crash_test.h"

// dies runs way and checks that it ends in a fault that is reported once.
static void dies(const char *way)
{
    run.way = way;
    real_crash(&run);
    assert_int_equal(run.status & ~WCOREFLAG, SIGSEGV);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "same_tid=1"));
}

static void a_full_main_stack_is_reported(void **state)
{
    (void)state;
    dies("overflow");
    assert_true(real_crash_says(&run, "stack=1"));
}

static void a_full_worker_stack_is_reported(void **state)
{
    (void)state;
    dies("overflow-worker");
    assert_true(real_crash_says(&run, "stack=1"));
}

static void a_full_smallest_stack_is_reported(void **state)
{
    (void)state;
    dies("overflow-tiny");
}

static void a_full_stack_of_a_c11_thread_is_reported(void **state)
{
    (void)state;
    dies("overflow-c11");
}

static void
a_small_alternate_stack_of_the_programs_is_not_the_one_we_run_on(void **state)
{
    (void)state;
    dies("own-small-stack");
    assert_true(real_crash_says(&run, "stack=1"));
}

static void a_large_alternate_stack_is_kept(void **state)
{
    (void)state;
    run.way = "keeps-own-stack";
    run.dlopens = true;
    real_crash(&run);
    assert_string_equal(run.output, "100000\n");
}

static void a_small_alternate_stack_is_replaced(void **state)
{
    (void)state;
    run.way = "replaces-small-stack";
    run.dlopens = true;
    real_crash(&run);
    assert_true(strtol(run.output, NULL, 10) >= 65536);
}

static void a_signal_raised_by_a_worker_is_blamed_on_it(void **state)
{
    (void)state;
    char pid_is_tid[64];
    dies("raise-worker");
    int pid = (int)strtol(strstr(run.records, " pid=") + 5, NULL, 10);
    snprintf(pid_is_tid, sizeof(pid_is_tid), "tid=%d", pid);
    assert_false(real_crash_says(&run, pid_is_tid));
}

static void a_crash_among_512_threads_is_reported(void **state)
{
    (void)state;
    dies("crowd");
}

static void threads_that_crash_together_are_one_report(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        memset(&run, 0, sizeof(run));
        run.agent_way = i % 2 == 0 ? "answer" : "slow";
        dies("same-instant");
        real_crash_end(&run);
    }
}

static void parked_threads_do_not_outlive_a_hanging_agent(void **state)
{
    (void)state;
    run.way = "same-instant";
    run.agent_way = "hang";
    run.variables[0] = "CRASHHOOK_TIMEOUT=300ms";
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_true(run.ms >= 300 && run.ms < SOON_MS);
}

static void alternate_stacks_go_with_their_threads(void **state)
{
    (void)state;
    dies("threads-come-and-go");
}

static void alternate_stacks_share_mappings_that_can_be_touched(void **state)
{
    (void)state;
    dies("stacks-side-by-side");
}

static void a_forked_child_is_reported_as_itself(void **state)
{
    (void)state;
    run.way = "in-child";
    real_crash(&run);
    assert_true(WIFEXITED(run.status));
    assert_int_equal(WEXITSTATUS(run.status), SIGSEGV);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "read=1"));
}

static void children_that_crash_together_are_all_reported(void **state)
{
    (void)state;
    run.way = "in-many-children";
    real_crash(&run);
    assert_int_equal(WEXITSTATUS(run.status), 16);
    assert_int_equal(run.record_count, 16);
}

static void a_vfork_child_that_crashes_leaves_its_parent_covered(void **state)
{
    (void)state;
    run.way = "in-vfork-child";
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), SIGABRT);
    assert_int_equal(run.record_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(a_full_main_stack_is_reported),
        CRASH_TEST(a_full_worker_stack_is_reported),
        CRASH_TEST(a_full_smallest_stack_is_reported),
        CRASH_TEST(a_full_stack_of_a_c11_thread_is_reported),
        CRASH_TEST(a_small_alternate_stack_of_the_programs_is_not_the_one_we_run_on),
        CRASH_TEST(a_large_alternate_stack_is_kept),
        CRASH_TEST(a_small_alternate_stack_is_replaced),
        CRASH_TEST(a_signal_raised_by_a_worker_is_blamed_on_it),
        CRASH_TEST(a_crash_among_512_threads_is_reported),
        CRASH_TEST(threads_that_crash_together_are_one_report),
        CRASH_TEST(parked_threads_do_not_outlive_a_hanging_agent),
        CRASH_TEST(alternate_stacks_go_with_their_threads),
        CRASH_TEST(alternate_stacks_share_mappings_that_can_be_touched),
        CRASH_TEST(a_forked_child_is_reported_as_itself),
        CRASH_TEST(children_that_crash_together_are_all_reported),
        CRASH_TEST(a_vfork_child_that_crashes_leaves_its_parent_covered),
    };
    return cmocka_run_group_tests_name("handler/threads", tests, NULL, NULL);
}
