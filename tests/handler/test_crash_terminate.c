// SPDX-License-Identifier: Apache-2.0
//
// However a program crashes, it dies as it would have died, and the agent learns why.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler/crash_test.h"

// dies runs way and checks that it ends by signal and is reported once as that.
static void dies(const char *way, int signal)
{
    char reported[32];
    run.way = way;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), signal);
    assert_int_equal(run.record_count, 1);
    snprintf(reported, sizeof(reported), "signal=%d", signal);
    assert_true(real_crash_says(&run, reported));
    assert_true(real_crash_says(&run, "read=1"));
    assert_true(real_crash_says(&run, "dies=1"));
    assert_true(real_crash_says(&run, "agent=1"));
    assert_true(run.ms < SOON_MS);
}

static void a_null_write_dies_by_sigsegv_with_its_address(void **state)
{
    (void)state;
    dies("null-write", SIGSEGV);
    assert_true(real_crash_says(&run, "code=1"));
    assert_true(real_crash_says(&run, "address=(nil)"));
}

static void a_wild_write_tells_its_address(void **state)
{
    (void)state;
    dies("wild-write", SIGSEGV);
    assert_true(real_crash_says(&run, "address=0x123456789a8"));
}

static void abort_dies_by_sigabrt(void **state)
{
    (void)state;
    dies("abort", SIGABRT);
    assert_true(real_crash_says(&run, "code=-6"));
}

static void a_division_by_zero_dies_by_sigfpe(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    test_skip("the result is zero on this processor");
#endif
    dies("divide", SIGFPE);
}

static void an_illegal_instruction_dies_by_sigill(void **state)
{
    (void)state;
    dies("illegal", SIGILL);
}

static void a_breakpoint_dies_by_sigtrap(void **state)
{
    (void)state;
    dies("breakpoint", SIGTRAP);
}

static void reading_past_a_mapped_file_dies_by_sigbus(void **state)
{
    (void)state;
    dies("bus", SIGBUS);
}

static void a_call_that_seccomp_traps_dies_by_sigsys(void **state)
{
    (void)state;
    dies("forbidden-call", SIGSYS);
}

static void a_signal_to_oneself_is_a_crash(void **state)
{
    (void)state;
    dies("kill-self", SIGSEGV);
    assert_true(real_crash_says(&run, "code=0"));
}

static void a_signal_from_outside_is_a_crash_and_names_its_sender(void **state)
{
    (void)state;
    char sender[32];
    run.way = "wait-for-kill";
    real_crash_start(&run);
    real_crash_read(&run);
    kill(real_crash_pid(&run), SIGSEGV);
    real_crash_finish(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    snprintf(sender, sizeof(sender), "sender=%d", getpid());
    assert_true(real_crash_says(&run, sender));
    assert_int_equal(run.record_count, 1);
}

static void the_core_dump_is_written_as_without_us(void **state)
{
    (void)state;
    static const char *const ways[] = { "null-write", "abort", "breakpoint",
                                        "kill-self", "overflow-worker" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct real_crash bare = { .way = ways[i], .core_allowed = true, .bare = true };
        memset(&run, 0, sizeof(run));
        run.way = ways[i];
        run.core_allowed = true;
        real_crash(&bare);
        real_crash(&run);
        real_crash_end(&bare);
        real_crash_end(&run);
        assert_int_equal(run.status, bare.status);
        assert_int_equal(run.core_found, bare.core_found);
        assert_int_equal(run.record_count, 1);
    }
}

static void a_process_that_forbids_dumps_is_read_and_leaves_none(void **state)
{
    (void)state;
    run.core_allowed = true;
    dies("not-dumpable", SIGSEGV);
    assert_false(WCOREDUMP(run.status));
    assert_false(run.core_found);
}

// exits_as_first runs way as PID 1, which default actions do nothing to.
static void exits_as_first(const char *way, int signal)
{
    memset(&run, 0, sizeof(run));
    run.way = way;
    run.first_of_namespace = true;
    real_crash(&run);
    if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 77)
        test_skip("this place makes no namespaces");
    assert_true(WIFEXITED(run.status));
    assert_int_equal(WEXITSTATUS(run.status), 128 + signal);
    assert_int_equal(run.record_count, 1);
    assert_true(run.ms < SOON_MS);
}

static void the_first_process_of_a_namespace_ends_with_128_and_the_signal(void **state)
{
    (void)state;
    exits_as_first("abort", SIGABRT);
    real_crash_end(&run);
    exits_as_first("kill-self", SIGSEGV);
}

static void a_fault_ends_the_first_process_of_a_namespace(void **state)
{
    (void)state;
    run.way = "null-write";
    run.first_of_namespace = true;
    real_crash(&run);
    if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 77)
        test_skip("this place makes no namespaces");
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 1);
}

static void a_crash_of_the_handler_ends_in_the_original_signal(void **state)
{
    (void)state;
    run.way = "crash-in-handler";
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 0);
    assert_true(run.ms < SOON_MS);
}

static void a_crash_of_the_handler_does_not_hide_what_it_was_called_for(void **state)
{
    (void)state;
    run.way = "crash-in-handler-of-abort";
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
    assert_true(run.ms < SOON_MS);
}

static void
a_handler_that_may_not_start_anything_ends_in_the_original_signal(void **state)
{
    (void)state;
    run.way = "forbidden-agent"; // SIGSYS, inside the handler of SIGSEGV
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 0);
    assert_true(run.ms < SOON_MS);
}

static void
a_signal_that_comes_meanwhile_does_not_end_it_in_place_of_the_fault(void **state)
{
    (void)state;
    run.agent_way = "terminate";
    dies("null-write", SIGSEGV);
    real_crash_end(&run);
    memset(&run, 0, sizeof(run));
    run.agent_way = "terminate";
    dies("abort", SIGABRT);
}

static void locks_that_the_program_holds_are_no_trouble(void **state)
{
    (void)state;
    dies("in-loader-lock", SIGSEGV);
    real_crash_end(&run);
    memset(&run, 0, sizeof(run));
    dies("in-malloc", SIGABRT);
}

static void a_process_that_may_map_no_more_is_reported(void **state)
{
    (void)state;
    dies("out-of-memory", SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(a_null_write_dies_by_sigsegv_with_its_address),
        CRASH_TEST(a_wild_write_tells_its_address),
        CRASH_TEST(abort_dies_by_sigabrt),
        CRASH_TEST(a_division_by_zero_dies_by_sigfpe),
        CRASH_TEST(an_illegal_instruction_dies_by_sigill),
        CRASH_TEST(a_breakpoint_dies_by_sigtrap),
        CRASH_TEST(reading_past_a_mapped_file_dies_by_sigbus),
        CRASH_TEST(a_call_that_seccomp_traps_dies_by_sigsys),
        CRASH_TEST(a_signal_to_oneself_is_a_crash),
        CRASH_TEST(a_signal_from_outside_is_a_crash_and_names_its_sender),
        CRASH_TEST(the_core_dump_is_written_as_without_us),
        CRASH_TEST(a_process_that_forbids_dumps_is_read_and_leaves_none),
        CRASH_TEST(the_first_process_of_a_namespace_ends_with_128_and_the_signal),
        CRASH_TEST(a_fault_ends_the_first_process_of_a_namespace),
        CRASH_TEST(a_crash_of_the_handler_ends_in_the_original_signal),
        CRASH_TEST(a_crash_of_the_handler_does_not_hide_what_it_was_called_for),
        CRASH_TEST(a_handler_that_may_not_start_anything_ends_in_the_original_signal),
        CRASH_TEST(a_signal_that_comes_meanwhile_does_not_end_it_in_place_of_the_fault),
        CRASH_TEST(locks_that_the_program_holds_are_no_trouble),
        CRASH_TEST(a_process_that_may_map_no_more_is_reported),
    };
    return cmocka_run_group_tests_name("handler/crash_terminate", tests, NULL, NULL);
}
