// SPDX-License-Identifier: Apache-2.0
//
// Lives, and who holds their locks: a process that lives, or the memory of one that has
// ended, which another process still reads for a moment.
#include "report/spool_records.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

static struct spool spool;

static int open_spool_folder(void **state)
{
    return folder_setup(state) != 0 ||
           spool_open(folder_path(*state, "spool"), SPOOL_CREATE, &spool) != CH_OK;
}

static int remove_spool_folder(void **state)
{
    spool_close(&spool);
    return folder_teardown(state);
}

// hold_life makes the life of process pid and has a child hold its lock, which ends
// when the other end of the pipe is closed and a moment later.
static pid_t hold_life(pid_t pid, char name[static SPOOL_LIFE_NAME_SIZE], int *out_end)
{
    const struct timespec moment = { .tv_nsec = 20000000 };
    int ends[2];
    int held[2];
    char byte = 0;
    spool_life_name(1, pid, name);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(held), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        int fd = openat(spool.folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        bool locked = fd >= 0 && flock(fd, LOCK_EX) == 0;
        close(ends[1]);
        if (!locked || write(held[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 0)
            _exit(1);
        (void)nanosleep(&moment, NULL);
        _exit(0);
    }
    close(ends[0]);
    close(held[1]);
    assert_int_equal(read(held[0], &byte, 1), 1);
    close(held[0]);
    *out_end = ends[1];
    return holder;
}

static bool take_one(void *context, const char *name, int fd)
{
    (void)name;
    (void)fd;
    ++*(int *)context;
    return true;
}

static void a_life_is_taken_before_anybody_has_waited_for_its_process(void **state)
{
    char name[SPOOL_LIFE_NAME_SIZE];
    siginfo_t info;
    int end;
    int count = 0;
    (void)state;
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
    pid_t holder = hold_life(ended, name, &end);
    close(end);
    bool taken = spool_take_record(&spool, name, take_one, &count);
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_true(taken);
    assert_int_equal(count, 1);
}

static void a_life_of_a_process_that_lives_is_left(void **state)
{
    char name[SPOOL_LIFE_NAME_SIZE];
    int end;
    int count = 0;
    (void)state;
    pid_t holder = hold_life(getpid(), name, &end);
    bool taken = spool_take_record(&spool, name, take_one, &count);
    close(end);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_false(taken);
    assert_int_equal(count, 0);
    assert_int_equal(faccessat(spool.folder_fd, name, F_OK, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_life_is_taken_before_anybody_has_waited_for_its_process,
            open_spool_folder, remove_spool_folder),
        cmocka_unit_test_setup_teardown(a_life_of_a_process_that_lives_is_left,
                                        open_spool_folder, remove_spool_folder),
    };
    return cmocka_run_group_tests_name("report/spool_records", tests, NULL, NULL);
}
