// SPDX-License-Identifier: Apache-2.0
#include "images/read_file.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { LIMIT_BYTES = 64 };

// read_comm reads the name of a process while no file can be opened.
static enum ch_status read_comm(pid_t pid, struct text *out)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    const struct rlimit none = { 0, files.rlim_max };
    (void)setrlimit(RLIMIT_NOFILE, &none);
    enum ch_status status = read_process_file(pid, "comm", LIMIT_BYTES, out);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return status;
}

static void a_kept_file_is_read_as_it_is_by_then_and_opens_nothing(void **state)
{
    (void)state;
    struct text before = { 0 };
    struct text after = { 0 };
    enum ch_status refused = read_comm(getpid(), &before);
    read_process_file_keep(getpid(), "comm");
    (void)prctl(PR_SET_NAME, "before");
    enum ch_status first = read_comm(getpid(), &before);
    (void)prctl(PR_SET_NAME, "after");
    enum ch_status second = read_comm(getpid(), &after);
    bool right = before.size != 0 && strcmp(before.bytes, "before\n") == 0 &&
                 after.size != 0 && strcmp(after.bytes, "after\n") == 0;
    text_deinit(&before);
    text_deinit(&after);
    assert_int_equal(refused, CH_ERR_IO);
    assert_int_equal(first, CH_OK);
    assert_int_equal(second, CH_OK);
    assert_true(right);
}

static void a_kept_file_of_a_process_that_is_gone_says_nothing(void **state)
{
    (void)state;
    struct text name = { 0 };
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    read_process_file_keep(child, "comm");
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    enum ch_status status = read_process_file(child, "comm", LIMIT_BYTES, &name);
    text_deinit(&name);
    assert_int_equal(status, CH_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_file_is_read_as_it_is_by_then_and_opens_nothing),
        cmocka_unit_test(a_kept_file_of_a_process_that_is_gone_says_nothing),
    };
    return cmocka_run_group_tests_name("agent/read_file", tests, NULL, NULL);
}
