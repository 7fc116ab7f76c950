// SPDX-License-Identifier: Apache-2.0
//
// Copies of liveness records, whose locks supervisors hold.
#include "report/spool/spool_records.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
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

// hold_liveness makes a copy of a liveness record and has a child hold its lock, which
// ends when the other end of the pipe is closed.
static pid_t hold_liveness(char name[static SPOOL_LIVENESS_NAME_SIZE], int *out_end)
{
    int ends[2];
    int held[2];
    char byte = 0;
    spool_liveness_name(1, getpid(), name);
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

static void a_copy_of_a_record_is_taken_once_its_supervisor_has_ended(void **state)
{
    char name[SPOOL_LIVENESS_NAME_SIZE];
    int end;
    int count = 0;
    (void)state;
    pid_t holder = hold_liveness(name, &end);
    close(end);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_true(spool_take_record(&spool, name, take_one, &count));
    assert_int_equal(count, 1);
    assert_int_equal(faccessat(spool.folder_fd, name, F_OK, 0), -1);
}

static void a_copy_of_a_record_is_left_while_its_supervisor_lives(void **state)
{
    char name[SPOOL_LIVENESS_NAME_SIZE];
    int end;
    int count = 0;
    (void)state;
    pid_t holder = hold_liveness(name, &end);
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
            a_copy_of_a_record_is_taken_once_its_supervisor_has_ended,
            open_spool_folder, remove_spool_folder),
        cmocka_unit_test_setup_teardown(
            a_copy_of_a_record_is_left_while_its_supervisor_lives, open_spool_folder,
            remove_spool_folder),
    };
    return cmocka_run_group_tests_name("report/spool_records", tests, NULL, NULL);
}
