// SPDX-License-Identifier: Apache-2.0
#include "base/system/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// in_child runs check in a process of its own, which is left nothing of the test's
// output when it closes it, and gives its exit status.
static int in_child(int (*check)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(check());
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int open_without_any(void)
{
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    standard_files_hold();
    return open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 1;
}

static void standard_files_are_never_what_is_opened_later(void **state)
{
    (void)state;
    assert_int_equal(in_child(open_without_any), 0);
}

static int use_without_any(void)
{
    char byte = 0;
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    standard_files_hold();
    if (read(STDIN_FILENO, &byte, 1) >= 0 || errno != EBADF)
        return 1;
    if (write(STDERR_FILENO, &byte, 1) >= 0 || errno != EBADF)
        return 2;
    return (fcntl(STDERR_FILENO, F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 3;
}

static void
standard_files_that_were_closed_still_fail_and_are_not_inherited(void **state)
{
    (void)state;
    assert_int_equal(in_child(use_without_any), 0);
}

static int keep_pipe(void)
{
    int ends[2];
    char byte = 'x';
    if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
        return 1;
    standard_files_hold();
    if (write(ends[1], &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        return 2;
    return (fcntl(STDIN_FILENO, F_GETFD) & FD_CLOEXEC) == 0 ? 0 : 3;
}

static void standard_files_that_are_open_stay_as_they_are(void **state)
{
    (void)state;
    assert_int_equal(in_child(keep_pipe), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_files_are_never_what_is_opened_later),
        cmocka_unit_test(
            standard_files_that_were_closed_still_fail_and_are_not_inherited),
        cmocka_unit_test(standard_files_that_are_open_stay_as_they_are),
    };
    return cmocka_run_group_tests_name("base/program_start", tests, NULL, NULL);
}
