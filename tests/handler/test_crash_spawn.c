// SPDX-License-Identifier: Apache-2.0
//
// The agent is started without a trace in the program, takes nothing of it along, and
// whatever becomes of the agent, the program dies: at once when there is none, at its
// deadline when it hangs.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler/crash_test.h"

static void assert_segv(void)
{
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), SIGSEGV);
}

static void the_agent_starts_with_nothing_of_the_program(void **state)
{
    (void)state;
    run.way = "ignore-all";
    real_crash(&run);
    assert_segv();
    assert_true(real_crash_says(&run, "fds=0,1,2,3,"));
    assert_true(real_crash_says(&run, "group=1"));
    assert_null(strstr(run.records, "LD_PRELOAD"));
    assert_true(real_crash_says(&run, "enable=no"));
}

static void the_agent_gets_the_variables_it_needs_and_no_others(void **state)
{
    (void)state;
    run.way = "null-write";
    run.variables[0] = "HOME=/home/somebody";
    run.variables[1] = "DEBUGINFOD_URLS=http://localhost:1";
    run.variables[2] = "https_proxy=http://localhost:2";
    run.variables[3] = "SECRET_KEY=do-not-pass";
    run.variables[4] = "HOMEPAGE=x";
    run.variables[5] = "CRASHHOOK_TAGS=a=b";
    run.variables[6] = "OTEL_EXPORTER_OTLP_HEADERS=a=b";
    run.variables[7] = "OTEL_EXPORTER_OTLP_LOGS_HEADERS=a=b";
    real_crash(&run);
    assert_segv();
    assert_non_null(strstr(run.records, "HOME,"));
    assert_non_null(strstr(run.records, "DEBUGINFOD_URLS,"));
    assert_non_null(strstr(run.records, "https_proxy,"));
    assert_non_null(strstr(run.records, "CRASHHOOK_TAGS,"));
    assert_non_null(strstr(run.records, "OTEL_EXPORTER_OTLP_HEADERS,"));
    assert_non_null(strstr(run.records, "OTEL_EXPORTER_OTLP_LOGS_HEADERS,"));
    assert_null(strstr(run.records, "SECRET_KEY"));
    assert_null(strstr(run.records, "HOMEPAGE"));
}

static void the_channel_is_descriptor_three_whatever_was_there(void **state)
{
    (void)state;
    // In the second, the channel is made as descriptors 2 and 3.
    static const char *const ways[] = { "descriptor-three-is-taken",
                                        "descriptor-two-is-free" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        memset(&run, 0, sizeof(run));
        run.way = ways[i];
        real_crash(&run);
        real_crash_end(&run);
        assert_segv();
        assert_true(real_crash_says(&run, "fds=0,1,2,3,"));
    }
}

static void closed_standard_files_are_no_trouble(void **state)
{
    (void)state;
    run.way = "null-write";
    run.no_standard_files = true;
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "fds=0,1,2,3,"));
}

static void a_full_descriptor_table_is_no_trouble(void **state)
{
    (void)state;
    run.way = "fill-descriptors";
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 1);
}

static void a_full_descriptor_table_under_a_hard_limit_is_no_trouble(void **state)
{
    (void)state;
    if (geteuid() != 0)
        test_skip("not root"); // it becomes another user, to whom the limit applies
    run.way = "fill-descriptors-for-good";
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 1);
}

static void a_missing_agent_costs_no_time(void **state)
{
    (void)state;
    run.way = "null-write";
    run.agent = "/nonexistent/agent";
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 0);
    assert_true(run.ms < SOON_MS);
}

static void an_agent_that_is_no_program_costs_no_time(void **state)
{
    (void)state;
    run.way = "abort";
    run.agent = "/etc/passwd";
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
    assert_true(run.ms < SOON_MS);
}

static void a_process_that_may_start_no_other_dies_at_once(void **state)
{
    (void)state;
    if (geteuid() != 0)
        test_skip("not root");
    run.way = "no-more-processes";
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 0);
    assert_true(run.ms < SOON_MS);
}

static void an_agent_that_leaves_ends_the_wait(void **state)
{
    (void)state;
    static const char *const ways[] = { "exit", "die-early", "die" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        memset(&run, 0, sizeof(run));
        run.way = "null-write";
        run.agent_way = ways[i];
        real_crash(&run);
        real_crash_end(&run);
        assert_segv();
        assert_true(run.ms < SOON_MS);
    }
}

static void a_hanging_agent_is_killed_at_the_deadline(void **state)
{
    (void)state;
    static const char *const ways[] = { "hang", "stop" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        memset(&run, 0, sizeof(run));
        run.way = "null-write";
        run.agent_way = ways[i];
        run.variables[0] = "CRASHHOOK_TIMEOUT=400ms";
        real_crash(&run);
        real_crash_end(&run);
        assert_segv();
        assert_true(run.ms >= 400);
        assert_true(run.ms < SOON_MS);
    }
}

static void what_the_agent_does_later_holds_nobody(void **state)
{
    (void)state;
    run.way = "null-write";
    run.agent_way = "linger";
    real_crash(&run);
    assert_segv();
    assert_true(run.ms < SOON_MS);
    assert_true(run.output_ms < SOON_MS); // $(program) has returned
}

static void the_port_can_be_bound_while_the_agent_lingers(void **state)
{
    (void)state;
    run.way = "listen";
    run.agent_way = "linger";
    real_crash(&run);
    assert_segv();

    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port =
                                       htons((uint16_t)strtol(run.output, NULL, 10)) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int result = bind(fd, (struct sockaddr *)&address, sizeof(address));
    close(fd);
    assert_int_equal(result, 0);
}

static void a_lock_is_free_while_the_agent_lingers(void **state)
{
    (void)state;
    char path[128];
    struct flock lock = { .l_type = F_WRLCK };
    run.way = "hold-a-lock";
    run.agent_way = "linger";
    real_crash(&run);
    assert_segv();
    snprintf(path, sizeof(path), "%s/lock", run.folder);
    int fd = open(path, O_RDWR);
    int result = fcntl(fd, F_GETLK, &lock);
    close(fd);
    assert_int_equal(result, 0);
    assert_int_equal(lock.l_type, F_UNLCK);
}

static void the_program_hears_of_no_child(void **state)
{
    (void)state;
    run.way = "watch-children";
    run.agent_way = "slow";
    real_crash(&run);
    assert_segv();
    assert_int_equal(run.record_count, 1);
    assert_string_equal(run.output, "");
}

static void a_reaper_of_orphans_hears_of_no_child_either(void **state)
{
    (void)state;
    static const char *const ways[] = { "slow", "linger" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        memset(&run, 0, sizeof(run));
        run.way = "watch-children-as-subreaper";
        run.agent_way = ways[i];
        real_crash(&run);
        real_crash_end(&run);
        assert_segv();
        assert_string_equal(run.output, "");
    }
}

static void stdout_is_kept_when_the_report_is_printed_there(void **state)
{
    (void)state;
    run.way = "null-write";
    run.variables[0] = "CRASHHOOK_OUTPUT=stdout";
    real_crash(&run);
    assert_true(real_crash_says(&run, "kept=2"));
}

static void stderr_is_kept_when_the_report_is_printed_there(void **state)
{
    (void)state;
    run.way = "null-write";
    run.variables[0] = "CRASHHOOK_PRINT=yes";
    real_crash(&run);
    assert_true(real_crash_says(&run, "kept=4"));
    real_crash_end(&run);
    memset(&run, 0, sizeof(run));
    run.way = "null-write";
    real_crash(&run); // tty is the default, and this is none
    assert_true(real_crash_says(&run, "kept=0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(the_agent_starts_with_nothing_of_the_program),
        CRASH_TEST(the_agent_gets_the_variables_it_needs_and_no_others),
        CRASH_TEST(the_channel_is_descriptor_three_whatever_was_there),
        CRASH_TEST(closed_standard_files_are_no_trouble),
        CRASH_TEST(a_full_descriptor_table_is_no_trouble),
        CRASH_TEST(a_full_descriptor_table_under_a_hard_limit_is_no_trouble),
        CRASH_TEST(a_missing_agent_costs_no_time),
        CRASH_TEST(an_agent_that_is_no_program_costs_no_time),
        CRASH_TEST(a_process_that_may_start_no_other_dies_at_once),
        CRASH_TEST(an_agent_that_leaves_ends_the_wait),
        CRASH_TEST(a_hanging_agent_is_killed_at_the_deadline),
        CRASH_TEST(what_the_agent_does_later_holds_nobody),
        CRASH_TEST(the_port_can_be_bound_while_the_agent_lingers),
        CRASH_TEST(a_lock_is_free_while_the_agent_lingers),
        CRASH_TEST(the_program_hears_of_no_child),
        CRASH_TEST(a_reaper_of_orphans_hears_of_no_child_either),
        CRASH_TEST(stdout_is_kept_when_the_report_is_printed_there),
        CRASH_TEST(stderr_is_kept_when_the_report_is_printed_there),
    };
    return cmocka_run_group_tests_name("handler/crash_spawn", tests, NULL, NULL);
}
