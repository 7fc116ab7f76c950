// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static void file_close_keeps_errno_and_takes_no_descriptor(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int copy = fd;
    errno = ENOENT;
    file_close(&fd);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fcntl(copy, F_GETFD), -1);
    errno = ENOENT;
    file_close(&(int){ -1 });
    assert_int_equal(errno, ENOENT);
}

// A pipe takes less at once than this.
static void file_write_all_writes_more_than_one_call_takes(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    int ends[2];
    size_t count = 0;
    ssize_t got;
    static char bytes[SIZE];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(file_write_all(ends[1], bytes, SIZE) ? 0 : 1);
    (void)close(ends[1]);
    while ((got = read(ends[0], bytes, SIZE)) > 0)
        count += (size_t)got;
    (void)close(ends[0]);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count, SIZE);
}

static void file_write_all_says_why_it_could_not(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_false(file_write_all(full, "x", 1));
    assert_int_equal(errno, ENOSPC);
    assert_true(file_write_all(full, "", 0));
    (void)close(full);
}

static void file_name_is_what_stands_after_the_last_slash(void **state)
{
    (void)state;
    assert_string_equal(file_name("/usr/lib/x.so"), "x.so");
    assert_string_equal(file_name("x.so"), "x.so");
    assert_string_equal(file_name("dir/"), "");
    assert_string_equal(file_name(""), "");
    assert_null(file_name(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_close_keeps_errno_and_takes_no_descriptor),
        cmocka_unit_test(file_write_all_writes_more_than_one_call_takes),
        cmocka_unit_test(file_write_all_says_why_it_could_not),
        cmocka_unit_test(file_name_is_what_stands_after_the_last_slash),
    };
    return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}
