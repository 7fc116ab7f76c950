// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

// The number that it had may be another file's by the second time.
static void file_close_closes_a_descriptor_once(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    file_close(&fd);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    file_close(&fd);
    int flags = fcntl(next, F_GETFD);
    (void)close(next);
    assert_int_equal(fd, -1);
    assert_int_not_equal(flags, -1);
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
    assert_string_equal(file_name("/dir/"), "/dir/");
    assert_string_equal(file_name(""), "");
    assert_null(file_name(NULL));
}

static void file_read_all_reads_what_comes_in_pieces(void **state)
{
    (void)state;
    int ends[2];
    char bytes[8] = { 0 };
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (const char *at = "abcdef"; *at != 0; at++)
            (void)!write(ends[1], at, 1);
        _exit(0);
    }
    (void)close(ends[1]);
    ssize_t first = file_read_all(ends[0], bytes, 4);
    ssize_t rest = file_read_all(ends[0], bytes + 4, 4);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(first, 4);
    assert_int_equal(rest, 2);
    assert_string_equal(bytes, "abcdef");
    assert_int_equal(file_read_all(ends[0], bytes, 1), -1);
}

static void file_read_at_stops_at_the_end(void **state)
{
    (void)state;
    char name[] = "/tmp/crashhook-test-XXXXXX";
    char bytes[8] = { 0 };
    int fd = mkstemp(name);
    (void)unlink(name);
    bool written = file_write_all(fd, "abcdef", 6);
    size_t middle = file_read_at(fd, bytes, 3, 2);
    size_t end = file_read_at(fd, bytes + 3, 4, 4);
    size_t after = file_read_at(fd, bytes, 1, 6);
    (void)close(fd);
    assert_true(written);
    assert_int_equal(middle, 3);
    assert_int_equal(end, 2);
    assert_int_equal(after, 0);
    assert_string_equal(bytes, "cdeef");
}

static void file_make_parents_makes_all_but_the_last_folder(void **state)
{
    (void)state;
    char top[] = "/tmp/crashhook-test-XXXXXX";
    char path[64];
    char parent[64];
    assert_non_null(mkdtemp(top));
    (void)snprintf(path, sizeof(path), "%s/a/b/c", top);
    (void)snprintf(parent, sizeof(parent), "%s/a/b", top);
    bool made = file_make_parents(path, 0700);
    bool again = file_make_parents(path, 0700);
    int last = access(path, F_OK);
    int removed = rmdir(parent);
    parent[strlen(parent) - 2] = 0;
    removed |= rmdir(parent) | rmdir(top);
    assert_true(made);
    assert_true(again);
    assert_int_equal(last, -1);
    assert_int_equal(removed, 0);
    assert_false(file_make_parents("", 0700));
    assert_false(file_make_parents("/dev/null/a/b", 0700));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_close_keeps_errno_and_takes_no_descriptor),
        cmocka_unit_test(file_close_closes_a_descriptor_once),
        cmocka_unit_test(file_write_all_writes_more_than_one_call_takes),
        cmocka_unit_test(file_write_all_says_why_it_could_not),
        cmocka_unit_test(file_read_all_reads_what_comes_in_pieces),
        cmocka_unit_test(file_read_at_stops_at_the_end),
        cmocka_unit_test(file_make_parents_makes_all_but_the_last_folder),
        cmocka_unit_test(file_name_is_what_stands_after_the_last_slash),
    };
    return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}
