// SPDX-License-Identifier: Apache-2.0
//
// What variables and options do at install; whatever they say, the program goes on.
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash_test.h"

// crashes_with runs a program that crashes, with one variable more.
static void crashes_with(const char *way, const char *variable, int signal)
{
    run.way = way;
    run.variables[0] = variable;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), signal);
}

static void nothing_is_reported_when_switched_off(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_ENABLE=no", SIGSEGV);
    assert_int_equal(run.record_count, 0);
    assert_string_equal(run.errors, "");
}

static void nothing_is_reported_without_the_terminal_it_was_asked_for(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_ENABLE=tty", SIGSEGV);
    assert_int_equal(run.record_count, 0);
}

static void a_signal_that_is_not_named_is_no_crash(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_SIGNALS=ABRT,FPE", SIGSEGV);
    assert_int_equal(run.record_count, 0);
}

static void a_signal_that_is_named_is_a_crash(void **state)
{
    (void)state;
    crashes_with("quit", "CRASHHOOK_SIGNALS=SIGQUIT", SIGQUIT);
    assert_int_equal(run.record_count, 1);
}

static void a_value_that_is_not_understood_is_one_line_and_no_more(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_TIMEOUT=soon", SIGSEGV);
    assert_int_equal(run.record_count, 1);
    static const char line[] = "crashhook: CRASHHOOK_TIMEOUT='soon' is not understood: "
                               "accepted is ";
    assert_memory_equal(run.errors, line, strlen(line));
    assert_ptr_equal(strchr(run.errors, '\n'), run.errors + strlen(run.errors) - 1);
    assert_non_null(strstr(run.errors, "; using the default\n"));
}

static void a_variable_that_there_is_none_of_is_named_without_its_value(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_TOKN=marigold", SIGSEGV);
    assert_int_equal(run.record_count, 1);
    assert_string_equal(run.errors,
                        "crashhook: there is no CRASHHOOK_TOKN; see `crashhook "
                        "doctor`\n");
}

static void nothing_is_said_of_variables_where_it_is_switched_off(void **state)
{
    (void)state;
    run.variables[1] = "CRASHHOOK_TOKN=marigold";
    crashes_with("null-write", "CRASHHOOK_ENABLE=no", SIGSEGV);
    assert_string_equal(run.errors, "");
}

static void a_log_on_stdout_is_refused_aloud(void **state)
{
    (void)state;
    crashes_with("null-write", "CRASHHOOK_LOG=stdout", SIGSEGV);
    static const char line[] = "crashhook: CRASHHOOK_LOG='stdout' is not understood: "
                               "accepted is a file, or stderr";
    assert_memory_equal(run.errors, line, strlen(line));
}

static void an_agent_that_is_not_there_is_named_when_the_program_starts(void **state)
{
    (void)state;
    run.way = "live";
    run.agent = "/nonexistent/agent";
    real_crash(&run);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.errors, "crashhook: cannot execute CRASHHOOK_AGENT "
                                    "'/nonexistent/agent'\n");
}

static void a_program_that_lives_is_left_alone(void **state)
{
    (void)state;
    run.way = "live";
    real_crash(&run);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.output, "alive\n");
    assert_string_equal(run.errors, "");
    assert_int_equal(run.record_count, 0);
}

static void an_agent_that_is_named_relatively_is_found_from_elsewhere(void **state)
{
    (void)state;
    char path[128];
    run.way = "change-folder";
    run.agent = "./agent";
    real_crash_prepare(&run);
    snprintf(path, sizeof(path), "%s/agent", run.folder);
    assert_int_equal(symlink(PROBE_AGENT, path), 0);
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
}

static void a_spool_that_is_named_relatively_stays_where_it_was_named(void **state)
{
    (void)state;
    char pair[128];
    run.way = "change-folder";
    run.variables[0] = "CRASHHOOK_SPOOL=here";
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    snprintf(pair, sizeof(pair), "spool=%s/here", run.folder);
    assert_true(real_crash_says(&run, pair));
}

// copy_as_setuid puts a copy of file at path that runs as another user.
static bool copy_as_setuid(const char *file, const char *path)
{
    struct stat status;
    int from = open(file, O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    bool copied = fstat(from, &status) == 0 &&
                  sendfile(to, from, NULL, (size_t)status.st_size) == status.st_size &&
                  fchown(to, 65534, 65534) == 0 && fchmod(to, 04755) == 0;
    close(from);
    close(to);
    return copied;
}

// A preload is dropped from setuid programs by the loader; a linked library is not.
static void variables_of_a_setuid_program_are_not_read(void **state)
{
    (void)state;
    char path[128];
    if (geteuid() != 0)
        test_skip("not root");
    real_crash_prepare(&run);
    snprintf(path, sizeof(path), "%s/setuid", run.folder);
    assert_true(copy_as_setuid(LINKED_VICTIM, path));
    run.program = path;
    run.way = "null-write";
    run.bare = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 0);

    // The same file without the bit is reported: it was the bit.
    real_crash_end(&run);
    memset(&run, 0, sizeof(run));
    run.program = LINKED_VICTIM;
    run.way = "null-write";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
}

static void a_crash_of_a_librarys_constructor_is_reported(void **state)
{
    (void)state;
    run.program = CONSTRUCTED_VICTIM;
    run.way = "null-write";
    run.bare = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 1);
}

static void options_of_the_program_reach_the_agent(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-options";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "release=1.2.3"));
    assert_true(real_crash_says(&run, "tags=a=b"));
}

static void every_option_reaches_the_agent_as_its_variable(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        "URL=http://127.0.0.1:1",
        "TOKEN_FILE=/t",
        "TIMEOUT=29s",
        "PRINT=no",
        "RELEASE=1.2.3",
        "ENVIRONMENT=e",
        "TAGS=a=b",
        "TOKEN=marigold",
        "SPOOL_MAX=3,4K",
        "SIGNALS=SEGV,QUIT",
        "UNWIND=dwarf",
        "LIMIT=65",
        "TOP=17",
        "THREADS=crashed",
        "IMAGES=mentioned",
        "SYMBOLIZE=fast",
        "HOLD=report",
        "MODE=spawn",
        "HANDLERS=last",
        "PRESET=full",
        "ARGUMENTS=no",
        "SANITIZE=no",
        "MEMORY=yes",
        "OWN=acme::",
        "RATE=9/2m",
        "LOG=/l",
        "KILLS=no",
        "STARTS=no",
        "STACKS=no",
        "OUTPUT=/o",
        "FORMAT=json",
        "REGISTERS=all",
        "DEMANGLE=no",
        "COLOR=yes",
        "INTERACTIVE=no",
        "WARNINGS=no",
        "CACHE=no",
        "DESCRIPTORS=no",
        "PII=no",
        "USER=u",
    };
    run.program = LINKED_VICTIM;
    run.way = "with-every-option";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    // CRASHHOOK_AGENT and CRASHHOOK_SPOOL are the test's own.
    assert_int_equal(sizeof(pairs) / sizeof(pairs[0]) + 2,
                     (sizeof(struct crashhook_options) - sizeof(size_t)) /
                         sizeof(char *));
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char wanted[64];
        snprintf(wanted, sizeof(wanted), "CRASHHOOK_%s", pairs[i]);
        if (!real_crash_says(&run, wanted))
            fail_msg("the agent was not given %s", wanted);
    }
}

static void a_signal_that_options_leave_out_is_the_programs_again(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-fewer-signals";
    run.bare = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
    assert_int_equal(run.record_count, 0);
}

static void a_signal_that_options_add_is_a_crash(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-another-signal";
    run.bare = true;
    real_crash(&run);
    assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGQUIT);
    assert_int_equal(run.record_count, 1);
}

static void a_program_of_an_earlier_header_is_served(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-old-options";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "release=1.2.3"));
}

static void a_variable_overrules_an_option(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-options";
    run.bare = true;
    run.variables[0] = "CRASHHOOK_RELEASE=9";
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "release=9"));
    assert_true(real_crash_says(&run, "tags=a=b"));
}

static void installing_again_changes_nothing(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "install-often";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    assert_string_equal(run.output, "");
}

static void options_of_a_second_call_replace_those_of_the_first(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "with-options-replaced";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "tags=a=b"));
    assert_false(real_crash_says(&run, "release=1.2.3"));
}

static void installing_again_keeps_the_alternate_stack_and_no_old_plan(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "install-again-and-overflow";
    run.bare = true;
    real_crash(&run);
    assert_string_equal(run.output, "");
    assert_true(WIFSIGNALED(run.status));
    assert_int_equal(WTERMSIG(run.status), SIGSEGV);
    assert_int_equal(run.record_count, 1);
    assert_true(real_crash_says(&run, "stack=1"));
}

static void installing_does_not_use_the_heap(void **state)
{
    (void)state;
    run.program = LINKED_VICTIM;
    run.way = "watch-the-heap";
    run.bare = true;
    real_crash(&run);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.output, "0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(nothing_is_reported_when_switched_off),
        CRASH_TEST(nothing_is_reported_without_the_terminal_it_was_asked_for),
        CRASH_TEST(a_signal_that_is_not_named_is_no_crash),
        CRASH_TEST(a_signal_that_is_named_is_a_crash),
        CRASH_TEST(a_value_that_is_not_understood_is_one_line_and_no_more),
        CRASH_TEST(a_variable_that_there_is_none_of_is_named_without_its_value),
        CRASH_TEST(nothing_is_said_of_variables_where_it_is_switched_off),
        CRASH_TEST(a_log_on_stdout_is_refused_aloud),
        CRASH_TEST(an_agent_that_is_not_there_is_named_when_the_program_starts),
        CRASH_TEST(a_spool_that_is_named_relatively_stays_where_it_was_named),
        CRASH_TEST(a_program_that_lives_is_left_alone),
        CRASH_TEST(an_agent_that_is_named_relatively_is_found_from_elsewhere),
        CRASH_TEST(variables_of_a_setuid_program_are_not_read),
        CRASH_TEST(a_crash_of_a_librarys_constructor_is_reported),
        CRASH_TEST(options_of_the_program_reach_the_agent),
        CRASH_TEST(every_option_reaches_the_agent_as_its_variable),
        CRASH_TEST(a_signal_that_options_leave_out_is_the_programs_again),
        CRASH_TEST(a_signal_that_options_add_is_a_crash),
        CRASH_TEST(a_program_of_an_earlier_header_is_served),
        CRASH_TEST(a_variable_overrules_an_option),
        CRASH_TEST(installing_again_changes_nothing),
        CRASH_TEST(options_of_a_second_call_replace_those_of_the_first),
        CRASH_TEST(installing_again_keeps_the_alternate_stack_and_no_old_plan),
        CRASH_TEST(installing_does_not_use_the_heap),
    };
    return cmocka_run_group_tests_name("handler/install", tests, NULL, NULL);
}
