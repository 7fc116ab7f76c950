// SPDX-License-Identifier: Apache-2.0
//
// A confined process is a child here: there is no way back from it.
#include "base/system/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// in_child gives what attempt returns in a child that is confined.
static int in_child(int (*attempt)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        confine_free_phase();
        errno = 0;
        _exit(attempt());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int execute(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return errno;
}

static int trace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 ? errno : 0;
}

static int read_parent(void)
{
    char byte = 0;
    struct iovec here = { &byte, 1 };
    struct iovec there = { &byte, 1 };
    return process_vm_readv(getppid(), &here, 1, &there, 1, 0) < 0 ? errno : 0;
}

static int work_on(void)
{
    int ends[2];
    char byte = 0;
    void *piece = malloc(1 << 20);
    bool works = piece != NULL && pipe(ends) == 0 && fork() >= 0 &&
                 write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1;
    free(piece);
    return works ? 0 : 1;
}

static int core_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 1 ? 0 : 1;
}

static void confined_processes_start_no_program(void **state)
{
    (void)state;
    assert_int_equal(in_child(execute), EPERM);
}

static void confined_processes_read_no_other(void **state)
{
    (void)state;
    assert_int_equal(in_child(trace), CRASHHOOK_SANITIZED ? 0 : EPERM);
    assert_int_equal(in_child(read_parent), EPERM);
}

static void confined_processes_can_do_their_work(void **state)
{
    (void)state;
    assert_int_equal(in_child(work_on), 0);
}

// as_reader gives what attempt returns in a child that is a reader.
static int as_reader(int (*attempt)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        confine_reader();
        errno = 0;
        _exit(attempt());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int reach_out(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int make_file(void)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    return fd < 0 ? errno : 0;
}

static int read_file(void)
{
    return open("/proc/self/status", O_RDONLY) < 0 ? errno : 0;
}

static void readers_reach_no_network_and_write_no_file(void **state)
{
    (void)state;
    assert_int_equal(as_reader(reach_out), EPERM);
    assert_int_equal(as_reader(make_file), EACCES);
    assert_int_equal(as_reader(read_file), 0);
    assert_int_equal(as_reader(work_on), 0);
}

static int become_nobody(void)
{
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    if (!confine_become_nobody() || getresuid(&real, &effective, &saved) != 0)
        return 1;
    return real != 0 && effective == real && saved == real && getgroups(0, NULL) == 0 &&
                   setuid(0) != 0
               ? 0
               : 2;
}

// find_nobody_ahead has the user looked up where its files are, and becomes it where
// nothing can be opened. It is the user that is found otherwise.
static int find_nobody_ahead(void)
{
    const struct passwd *found = getpwnam("crashhook");
    const uid_t expected = found != NULL ? found->pw_uid : RIGHTS_NOBODY;
    const struct rlimit none = { 0, 0 };
    confine_find_nobody();
    int result = setrlimit(RLIMIT_NOFILE, &none) == 0 ? become_nobody() : 3;
    return result == 0 && getuid() != expected ? 4 : result;
}

static int become_root_without_capabilities(void)
{
    const struct rights none = { .user = 0 };
    return confine_become(&none) && rights_own_capabilities() == 0 &&
                   open("/proc/1/mem", O_RDONLY | O_CLOEXEC) < 0
               ? 0
               : 1;
}

static void nobody_cannot_become_root_again(void **state)
{
    (void)state;
    if (geteuid() != 0)
        test_skip("not root");
    assert_int_equal(in_child(become_nobody), 0);
    assert_int_equal(in_child(find_nobody_ahead), 0);
    assert_int_equal(in_child(become_root_without_capabilities), 0);
}

static void confined_processes_leave_no_core(void **state)
{
    (void)state;
    const struct rlimit least = { 1, 1 };
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
    if (limit.rlim_max == 0 && setrlimit(RLIMIT_CORE, &least) != 0)
        test_skip("the hard limit of core files is 0");
    assert_int_equal(in_child(core_limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confined_processes_start_no_program),
        cmocka_unit_test(confined_processes_read_no_other),
        cmocka_unit_test(confined_processes_can_do_their_work),
        cmocka_unit_test(confined_processes_leave_no_core),
        cmocka_unit_test(readers_reach_no_network_and_write_no_file),
        cmocka_unit_test(nobody_cannot_become_root_again),
    };
    return cmocka_run_group_tests_name("cli/confine", tests, NULL, NULL);
}
