// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

#define ID "01928374-5566-7788-99aa-bbccddeeff00"
#define ID_LATER "01928374-5567-7788-99aa-bbccddeeff00"

static struct spool open_spool(const struct folder *folder)
{
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(spool_open(folder_path(folder, "a/b/spool"), SPOOL_CREATE, &spool),
                     CH_OK);
    return spool;
}

// add_report writes and publishes a report; the descriptor holds its lock.
static int add_report(const struct spool *spool, const char *id, const char *content)
{
    int fd = -1;
    assert_int_equal(spool_create(spool, id, &fd), CH_OK);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(spool_publish(spool, id), CH_OK);
    return fd;
}

static void spool_makes_its_folders_for_the_user_alone(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    struct stat made;
    assert_int_equal(stat(folder_path(folder, "a/b"), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    assert_int_equal(stat(folder_path(folder, "a/b/spool"), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    spool_close(&spool);
}

static void spool_refuses_a_folder_that_others_may_write_to(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(mkdir(folder_path(folder, "open"), 0700), 0);
    assert_int_equal(chmod(folder_path(folder, "open"), 0777), 0);
    assert_int_equal(spool_open(folder_path(folder, "open"), SPOOL_WRITE, &spool),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(spool_open(folder_path(folder, "open"), SPOOL_READ, &spool),
                     CH_OK);
    spool_close(&spool);
}

static void spool_refuses_a_folder_of_another_user(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    if (geteuid() != 0)
        test_skip("not root");
    assert_int_equal(mkdir(folder_path(folder, "theirs"), 0700), 0);
    assert_int_equal(chown(folder_path(folder, "theirs"), 12345, 12345), 0);
    assert_int_equal(spool_open(folder_path(folder, "theirs"), SPOOL_CREATE, &spool),
                     CH_ERR_UNSUPPORTED);
}

static void spool_takes_a_drop_folder_of_roots_and_no_other(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    const char *path = folder_path(folder, "drop");
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 01733), 0);
    assert_int_equal(spool_open(path, SPOOL_WRITE, &spool), CH_OK);
    assert_true(spool.drop);
    close(add_report(&spool, ID, "{}"));
    spool_close(&spool);
    // Others could read what is there, or take it away.
    assert_int_equal(chmod(path, 01777), 0);
    assert_int_equal(spool_open(path, SPOOL_WRITE, &spool), CH_ERR_UNSUPPORTED);
    assert_int_equal(chmod(path, 0733), 0);
    assert_int_equal(spool_open(path, SPOOL_WRITE, &spool), CH_ERR_UNSUPPORTED);
    assert_int_equal(chown(path, 4711, 4711), 0);
    assert_int_equal(chmod(path, 01733), 0);
    assert_int_equal(spool_open(path, SPOOL_WRITE, &spool), CH_ERR_UNSUPPORTED);
}

static void spool_refuses_a_link_in_place_of_its_folder(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(symlink("/tmp", folder_path(folder, "link")), 0);
    enum ch_status status =
        spool_open(folder_path(folder, "link"), SPOOL_CREATE, &spool);
    assert_string_equal(
        spool_why(status),
        "it is a symbolic link, which is not followed: name what it leads to");
}

static void spool_says_why_a_folder_cannot_be_made(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(folder_write(folder, "file", ""), 0);
    enum ch_status status =
        spool_open(folder_path(folder, "file/spool"), SPOOL_CREATE, &spool);
    assert_string_equal(spool_why(status), "Not a directory");
}

static void spool_shows_a_report_only_once_it_is_complete(void **state)
{
    struct spool spool = open_spool(*state);
    struct spool_listing listing;
    int fd = -1;

    assert_int_equal(spool_create(&spool, ID, &fd), CH_OK);
    assert_int_equal(spool_list(&spool, &listing), CH_OK);
    assert_int_equal(listing.count, 0);
    assert_int_equal(spool_publish(&spool, ID), CH_OK);
    assert_int_equal(spool_list(&spool, &listing), CH_OK);
    size_t count = listing.count;
    spool_listing_deinit(&listing);
    close(fd);
    spool_close(&spool);
    assert_int_equal(count, 1);
}

static void spool_lists_reports_by_age_and_nothing_else(void **state)
{
    struct spool spool = open_spool(*state);
    struct spool_listing listing;
    close(add_report(&spool, ID_LATER, "{}"));
    close(add_report(&spool, ID, "{ }"));
    assert_int_equal(folder_write(*state, "a/b/spool/notes.json", "{}"), 0);
    assert_int_equal(folder_write(*state, "a/b/spool/" ID ".state", "{}"), 0);

    assert_int_equal(spool_list(&spool, &listing), CH_OK);
    bool right = listing.count == 2 && strcmp(listing.entries[0].id, ID) == 0 &&
                 listing.entries[0].size == 3 &&
                 strcmp(listing.entries[1].id, ID_LATER) == 0;
    spool_listing_deinit(&listing);
    spool_close(&spool);
    assert_true(right);
}

static void spool_never_writes_outside_of_its_folder(void **state)
{
    struct spool spool = open_spool(*state);
    int fd = -1;
    assert_int_equal(spool_create(&spool, "../../escape", &fd), CH_ERR_NOT_FOUND);
    assert_int_equal(spool_read(&spool, "../spool/x", &fd), CH_ERR_NOT_FOUND);
    spool_close(&spool);
}

static void spool_lock_is_held_from_before_a_report_is_visible(void **state)
{
    struct spool spool = open_spool(*state);
    int other = -1;
    int fd = add_report(&spool, ID, "{}");

    enum ch_status status = spool_lock(&spool, ID, &other);
    bool busy = status == CH_ERR_IO && errno == EWOULDBLOCK;
    close(fd);
    assert_true(busy);
    assert_int_equal(spool_lock(&spool, ID, &other), CH_OK);
    close(other);
    spool_close(&spool);
}

// hold_report locks report ID in a child that says so and then waits to be killed.
static pid_t hold_report(const struct spool *spool)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = -1;
        byte = spool_lock(spool, ID, &fd) == CH_OK ? 'y' : 'n';
        (void)!write(ready[1], &byte, 1);
        pause();
        _exit(0);
    }
    ssize_t count = read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(count, 1);
    assert_int_equal(byte, 'y');
    return child;
}

static void spool_lock_of_a_killed_process_falls(void **state)
{
    struct spool spool = open_spool(*state);
    int fd = -1;
    close(add_report(&spool, ID, "{}"));
    pid_t child = hold_report(&spool);

    enum ch_status while_alive = spool_lock(&spool, ID, &fd);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);

    assert_int_equal(while_alive, CH_ERR_IO);
    assert_int_equal(spool_lock(&spool, ID, &fd), CH_OK);
    close(fd);
    spool_close(&spool);
}

// rewrite_for_ever takes, rewrites and releases the report until it is killed.
static void rewrite_for_ever(const struct spool *spool)
{
    for (;;) {
        int fd = -1;
        if (spool_lock(spool, ID, &fd) != CH_OK)
            continue;
        (void)!spool_replace(spool, ID, "{}", 2, &fd);
        close(fd);
    }
}

// A lock won on the file that was there a moment ago is no lock on the report. How many
// are won is for the disk to say: rewriting waits for it.
static void spool_lock_is_on_the_file_that_is_there_now(void **state)
{
    enum { LOCKS = 2000, LOCKS_ENOUGH = 20, PATIENCE_S = 30 };
    struct spool spool = open_spool(*state);
    time_t began = time(NULL);
    int locked = 0;
    int stale = 0;
    close(add_report(&spool, ID, "{}"));
    pid_t child = fork();
    if (child == 0)
        rewrite_for_ever(&spool);
    while (locked < LOCKS && stale == 0 &&
           (locked < LOCKS_ENOUGH || time(NULL) - began < PATIENCE_S)) {
        int fd = -1;
        if (spool_lock(&spool, ID, &fd) != CH_OK)
            continue;
        stale += spool_adopt(&spool, ID, fd) != CH_OK;
        locked++;
        close(fd);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    spool_close(&spool);
    assert_int_equal(stale, 0);
    assert_true(locked >= LOCKS_ENOUGH);
}

static void spool_creates_over_nothing_that_is_there(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    int fd = -1;
    int other = -1;
    assert_int_equal(spool_create(&spool, ID, &fd), CH_OK);
    assert_int_equal(spool_create(&spool, ID, &other), CH_ERR_IO);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(
        symlink("elsewhere", folder_path(folder, "a/b/spool/." ID_LATER ".tmp")), 0);
    assert_int_equal(spool_create(&spool, ID_LATER, &other), CH_ERR_IO);
    assert_false(folder_has(folder, "a/b/spool/elsewhere"));
    close(fd);
    spool_close(&spool);
}

// prepare prepares a file where the file system can do that.
static int prepare(const struct spool *spool)
{
    int fd = -1;
    if (spool_prepare(spool, &fd) != CH_OK)
        test_skip("no files without a name here");
    return fd;
}

static void spool_makes_a_file_prepared_before_the_report(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    int fd = prepare(&spool);
    int other = -1;
    bool written = write(fd, "{}", 2) == 2;
    bool seen_early = folder_has(folder, "a/b/spool/" ID ".json");
    enum ch_status published = spool_publish_prepared(&spool, ID, fd);
    enum ch_status locked = spool_lock(&spool, ID, &other);
    enum ch_status adopted = spool_adopt(&spool, ID, fd);
    struct stat file;
    int status = stat(folder_path(folder, "a/b/spool/" ID ".json"), &file);
    close(fd);
    spool_close(&spool);
    assert_true(written);
    assert_false(seen_early);
    assert_int_equal(published, CH_OK);
    assert_int_equal(locked, CH_ERR_IO);
    assert_int_equal(adopted, CH_OK);
    assert_int_equal(status, 0);
    assert_int_equal(file.st_size, 2);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static void spool_makes_a_prepared_file_no_report_that_is_there(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    int fd = prepare(&spool);
    int other = -1;
    assert_int_equal(spool_create(&spool, ID, &other), CH_OK);
    assert_int_equal(spool_publish(&spool, ID), CH_OK);
    enum ch_status published = spool_publish_prepared(&spool, ID, fd);
    close(other);
    close(fd);
    spool_close(&spool);
    assert_int_equal(published, CH_ERR_IO);
}

static void spool_lock_survives_exec_and_is_adopted(void **state)
{
    struct spool spool = open_spool(*state);
    int other = -1;
    int fd = add_report(&spool, ID, "{}");
    int inherited = dup(fd); // what an exec leaves: same open file, same lock
    close(fd);

    assert_int_equal(spool_adopt(&spool, ID, inherited), CH_OK);
    assert_true(fcntl(inherited, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(spool_lock(&spool, ID, &other), CH_ERR_IO);
    close(inherited);
    spool_close(&spool);
}

static void spool_adopts_no_descriptor_of_another_file(void **state)
{
    struct spool spool = open_spool(*state);
    close(add_report(&spool, ID, "{}"));
    int other = add_report(&spool, ID_LATER, "{}");
    assert_int_equal(spool_adopt(&spool, ID, other), CH_ERR_NOT_FOUND);
    close(other);
    spool_close(&spool);
}

static void spool_rewrite_keeps_the_report_locked(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char content[16];
    int other = -1;
    int fd = add_report(&spool, ID, "raw");

    assert_int_equal(spool_replace(&spool, ID, "named", 5, &fd), CH_OK);
    enum ch_status busy = spool_lock(&spool, ID, &other);
    assert_int_equal(folder_read(folder, "a/b/spool/" ID ".json", content, 16), 5);
    assert_string_equal(content, "named");
    assert_int_equal(busy, CH_ERR_IO);
    close(fd);
    assert_int_equal(spool_lock(&spool, ID, &other), CH_OK);
    close(other);
    spool_close(&spool);
}

static void spool_lock_of_a_replaced_file_is_not_the_reports(void **state)
{
    struct spool spool = open_spool(*state);
    int fd = add_report(&spool, ID, "raw");
    int old = dup(fd);
    assert_int_equal(spool_replace(&spool, ID, "named", 5, &fd), CH_OK);
    assert_int_equal(spool_adopt(&spool, ID, old), CH_ERR_NOT_FOUND);
    close(old);
    close(fd);
    spool_close(&spool);
}

static void spool_refuses_links_and_fifos_as_reports(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    int fd = -1;
    assert_int_equal(
        symlink("/etc/passwd", folder_path(folder, "a/b/spool/" ID ".json")), 0);
    assert_int_equal(mkfifo(folder_path(folder, "a/b/spool/" ID_LATER ".json"), 0600),
                     0);
    enum ch_status link = spool_read(&spool, ID, &fd);
    assert_non_null(strstr(spool_why(link), "it is a symbolic link"));
    assert_int_equal(spool_lock(&spool, ID, &fd), CH_ERR_IO);
    assert_int_equal(spool_read(&spool, ID_LATER, &fd), CH_ERR_MALFORMED);
    spool_close(&spool);
}

static void spool_keeps_the_raw_report_when_the_disk_is_full(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    char content[16];
    if (geteuid() != 0)
        test_skip("not root");
    assert_int_equal(mkdir(folder_path(folder, "disk"), 0700), 0);
    if (mount("none", folder_path(folder, "disk"), "tmpfs", 0, "size=64k,mode=700") !=
        0)
        test_skip("this place lets nobody mount");
    assert_int_equal(spool_open(folder_path(folder, "disk"), SPOOL_WRITE, &spool),
                     CH_OK);
    int fd = add_report(&spool, ID, "raw");
    char *large = calloc(1, 1 << 20);
    enum ch_status status = spool_replace(&spool, ID, large, 1 << 20, &fd);
    int why = errno;
    free(large);
    bool left_over = folder_has(folder, "disk/." ID ".tmp");
    ssize_t size = folder_read(folder, "disk/" ID ".json", content, sizeof(content));
    enum ch_status lock = spool_adopt(&spool, ID, fd);
    close(fd);
    spool_close(&spool);
    umount2(folder_path(folder, "disk"), MNT_DETACH);

    assert_int_equal(status, CH_ERR_IO);
    assert_int_equal(why, ENOSPC);
    assert_false(left_over);
    assert_int_equal(size, 3);
    assert_int_equal(lock, CH_OK);
}

static void spool_says_that_it_is_on_a_read_only_disk(void **state)
{
    struct folder *folder = *state;
    struct spool spool = { .folder_fd = -1 };
    int fd = -1;
    if (geteuid() != 0)
        test_skip("not root");
    assert_int_equal(mkdir(folder_path(folder, "disk"), 0700), 0);
    if (mount("none", folder_path(folder, "disk"), "tmpfs", MS_RDONLY, "mode=700") != 0)
        test_skip("this place lets nobody mount");
    assert_int_equal(spool_open(folder_path(folder, "disk"), SPOOL_CREATE, &spool),
                     CH_OK);
    enum ch_status status = spool_create(&spool, ID, &fd);
    const char *why = spool_why(status);
    spool_close(&spool);
    umount2(folder_path(folder, "disk"), MNT_DETACH);
    assert_string_equal(why, "Read-only file system");
}

static void spool_sweeps_what_dead_writers_left_and_nothing_alive(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    int alive = -1;
    assert_int_equal(spool_create(&spool, ID, &alive), CH_OK);
    assert_int_equal(futimens(alive, old), 0);
    assert_int_equal(folder_write(folder, "a/b/spool/." ID_LATER ".tmp", "{"), 0);
    assert_int_equal(
        utimensat(AT_FDCWD, folder_path(folder, "a/b/spool/." ID_LATER ".tmp"), old, 0),
        0);

    assert_int_equal(spool_sweep(&spool), 1);
    assert_true(folder_has(folder, "a/b/spool/." ID ".tmp"));
    assert_false(folder_has(folder, "a/b/spool/." ID_LATER ".tmp"));
    close(alive);
    spool_close(&spool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

// Copies of liveness records, whose locks supervisors hold.

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
        TEST(spool_makes_its_folders_for_the_user_alone),
        TEST(spool_refuses_a_folder_that_others_may_write_to),
        TEST(spool_refuses_a_folder_of_another_user),
        TEST(spool_takes_a_drop_folder_of_roots_and_no_other),
        TEST(spool_refuses_a_link_in_place_of_its_folder),
        TEST(spool_says_why_a_folder_cannot_be_made),
        TEST(spool_shows_a_report_only_once_it_is_complete),
        TEST(spool_lists_reports_by_age_and_nothing_else),
        TEST(spool_never_writes_outside_of_its_folder),
        TEST(spool_lock_is_held_from_before_a_report_is_visible),
        TEST(spool_lock_of_a_killed_process_falls),
        TEST(spool_lock_is_on_the_file_that_is_there_now),
        TEST(spool_creates_over_nothing_that_is_there),
        TEST(spool_makes_a_file_prepared_before_the_report),
        TEST(spool_makes_a_prepared_file_no_report_that_is_there),
        TEST(spool_lock_survives_exec_and_is_adopted),
        TEST(spool_adopts_no_descriptor_of_another_file),
        TEST(spool_rewrite_keeps_the_report_locked),
        TEST(spool_lock_of_a_replaced_file_is_not_the_reports),
        TEST(spool_refuses_links_and_fifos_as_reports),
        TEST(spool_keeps_the_raw_report_when_the_disk_is_full),
        TEST(spool_says_that_it_is_on_a_read_only_disk),
        TEST(spool_sweeps_what_dead_writers_left_and_nothing_alive),
        cmocka_unit_test_setup_teardown(
            a_copy_of_a_record_is_taken_once_its_supervisor_has_ended,
            open_spool_folder, remove_spool_folder),
        cmocka_unit_test_setup_teardown(
            a_copy_of_a_record_is_left_while_its_supervisor_lives, open_spool_folder,
            remove_spool_folder),
    };
    return cmocka_run_group_tests_name("report/spool", tests, NULL, NULL);
}
