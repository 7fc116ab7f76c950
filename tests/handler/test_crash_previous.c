// SPDX-License-Identifier: Apache-2.0
//
// A program's own handlers work as they would without us: those that were there before
// ours are asked first, those that came later may call ours.
#include <signal.h>
#include <sys/wait.h>

#include "handler/crash_test.h"

// ends runs way, in which the program's handler comes first, and checks the end.
static void ends(const char *way, int signal, const char *output, int reports)
{
    run.way = way;
    run.dlopens = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), signal);
    assert_string_equal(run.output, output);
    assert_int_equal(run.record_count, reports);
    assert_true(run.ms < SOON_MS);
}

static void a_fault_that_a_handler_steps_over_is_no_crash(void **state)
{
    (void)state;
    // The abort that follows is one, and is still reported.
    ends("earlier-steps-over", SIGABRT, "HHH", 1);
    assert_true(real_crash_says(&run, "signal=6"));
}

static void a_fault_that_a_handler_jumps_away_from_is_no_crash(void **state)
{
    (void)state;
    ends("earlier-jumps", SIGABRT, "HHH", 1);
    assert_true(real_crash_says(&run, "signal=6"));
}

static void a_fault_that_a_handler_repairs_is_no_crash(void **state)
{
    (void)state;
    ends("earlier-opens-the-page", SIGABRT, "HHH", 1);
    assert_true(real_crash_says(&run, "signal=6"));
}

static void
a_handler_that_changes_nothing_is_called_once_with_the_original_siginfo(void **state)
{
    (void)state;
    ends("earlier-returns", SIGSEGV, "H11:1:0x123456789a8\n", 1);
    assert_true(real_crash_says(&run, "address=0x123456789a8"));
}

static void a_handler_of_abort_that_returns_does_not_stop_it(void **state)
{
    (void)state;
    run.way = "earlier-returns-from-abort";
    run.dlopens = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "dies=0"));
}

static void a_handler_that_gives_the_signal_up_leaves_a_crash(void **state)
{
    (void)state;
    ends("earlier-resets", SIGSEGV, "H", 1);
}

static void a_handler_that_raises_again_leaves_a_crash(void **state)
{
    (void)state;
    ends("earlier-raises", SIGSEGV, "H", 1);
    assert_true(real_crash_says(&run, "address=(nil)"));
}

static void
a_handler_that_aborts_is_reported_as_the_fault_that_it_was_called_for(void **state)
{
    (void)state;
    ends("earlier-aborts", SIGABRT, "H", 1);
    assert_true(real_crash_says(&run, "signal=11"));
    assert_true(real_crash_says(&run, "address=(nil)"));
}

static void an_ignored_signal_stays_ignored_and_a_fault_does_not(void **state)
{
    (void)state;
    ends("earlier-ignores", SIGSEGV, "alive\n", 1);
    assert_true(real_crash_says(&run, "code=1"));
}

static void an_ignored_signal_interrupts_nothing(void **state)
{
    (void)state;
    run.way = "reads-on-when-an-ignored-signal-comes";
    run.dlopens = true;
    real_crash(&run);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.output, "read\n");
    assert_int_equal(run.record_count, 0);
}

static void unloading_the_library_does_not_unload_the_handler(void **state)
{
    (void)state;
    ends("unloads-ours", SIGSEGV, "", 1);
}

static void a_later_handler_may_call_ours(void **state)
{
    (void)state;
    ends("later-calls-ours", SIGSEGV, "H", 1);
    assert_true(real_crash_says(&run, "address=(nil)"));
}

static void a_later_handler_may_call_ours_with_a_number_alone(void **state)
{
    (void)state;
    run.way = "later-calls-ours-with-a-number";
    run.dlopens = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_string_equal(run.output, "H");
    assert_true(run.ms < SOON_MS);
}

static void a_later_handler_may_put_ours_back(void **state)
{
    (void)state;
    ends("later-puts-ours-back", SIGSEGV, "H", 1);
}

static void losing_sa_siginfo_does_not_lose_the_crash(void **state)
{
    (void)state;
    ends("later-drops-siginfo", SIGSEGV, "", 1);
    assert_true(real_crash_says(&run, "signal=11"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(a_fault_that_a_handler_steps_over_is_no_crash),
        CRASH_TEST(a_fault_that_a_handler_jumps_away_from_is_no_crash),
        CRASH_TEST(a_fault_that_a_handler_repairs_is_no_crash),
        CRASH_TEST(
            a_handler_that_changes_nothing_is_called_once_with_the_original_siginfo),
        CRASH_TEST(a_handler_of_abort_that_returns_does_not_stop_it),
        CRASH_TEST(a_handler_that_gives_the_signal_up_leaves_a_crash),
        CRASH_TEST(a_handler_that_raises_again_leaves_a_crash),
        CRASH_TEST(
            a_handler_that_aborts_is_reported_as_the_fault_that_it_was_called_for),
        CRASH_TEST(an_ignored_signal_stays_ignored_and_a_fault_does_not),
        CRASH_TEST(an_ignored_signal_interrupts_nothing),
        CRASH_TEST(unloading_the_library_does_not_unload_the_handler),
        CRASH_TEST(a_later_handler_may_call_ours),
        CRASH_TEST(a_later_handler_may_call_ours_with_a_number_alone),
        CRASH_TEST(a_later_handler_may_put_ours_back),
        CRASH_TEST(losing_sa_siginfo_does_not_lose_the_crash),
    };
    return cmocka_run_group_tests_name("handler/crash_previous", tests, NULL, NULL);
}
