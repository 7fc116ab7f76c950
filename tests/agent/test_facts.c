// SPDX-License-Identifier: Apache-2.0
#include "agent/live/facts.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/live/permitted.h"
#include "support/folder.h"
#include "support/test.h"

// start_in_folder starts a process whose root is the folder; 0: that is not allowed.
static pid_t start_in_folder(const struct folder *folder)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        byte = chroot(folder->path) == 0;
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    (void)!read(ready[0], &byte, 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    if (byte != 0)
        return child;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return 0;
}

// reads_limits_of returns true if what is read of the process, of another user, is what
// we have inherited of it.
static bool reads_limits_of(pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    struct rlimit ours[2];
    struct rlimit found[2] = { 0 };
    return setresuid(65534, 65534, 65534) == 0 &&
           getrlimit(RLIMIT_NOFILE, &ours[0]) == 0 &&
           getrlimit(RLIMIT_CORE, &ours[1]) == 0 &&
           facts_read_limit(pid, RLIMIT_NOFILE, "Max open files", &lines, &found[0]) &&
           facts_read_limit(pid, RLIMIT_CORE, "Max core file size", &lines,
                            &found[1]) &&
           lines.size != 0 && memcmp(found, ours, sizeof(ours)) == 0;
}

static void limits_of_another_users_process_are_those_in_its_file(void **state)
{
    (void)state;
    int status = -1;
    if (geteuid() != 0)
        test_skip("it takes a process of another user");
    pid_t child = fork();
    if (child == 0)
        _exit(reads_limits_of(getppid()) ? 0 : 1);
    (void)waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

// read_system writes what the process's root says of the system.
static void read_system(pid_t pid, char out[static 64])
{
    const struct text none = { 0 };
    struct host_facts host;
    facts_read_host(&host, pid, &none);
    (void)snprintf(out, 64, "%s %s", host.os.size != 0 ? host.os.bytes : "",
                   host.container.size != 0 ? host.container.bytes : "");
    facts_deinit_host(&host);
}

static void
a_root_that_is_remembered_is_read_anew_once_it_says_something_else(void **state)
{
    const struct folder *folder = *state;
    char names[3][64];
    (void)mkdir(folder_path(folder, "etc"), 0700);
    (void)folder_write(folder, "etc/os-release", "PRETTY_NAME=\"First 1\"\n");
    (void)folder_write(folder, ".dockerenv", "");
    pid_t child = start_in_folder(folder);
    if (child == 0)
        test_skip("chroot is not allowed");
    facts_remember_root(child);
    read_system(child, names[0]);
    read_system(getpid(), names[1]);
    (void)folder_write(folder, "new", "PRETTY_NAME=\"Other 1\"\n");
    (void)rename(folder_path(folder, "new"), folder_path(folder, "etc/os-release"));
    read_system(child, names[2]);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    assert_string_equal(names[0], "First 1 docker");
    assert_string_not_equal(names[1], names[0]);
    assert_string_equal(names[2], "Other 1 docker");
}

// A family is the leader of a session, its child, and what a child of that one sees.
struct family {
    pid_t leader;
    pid_t parent;
    pid_t seen[FACTS_ANCESTORS];
    size_t count;
};

// tell_family is the three processes. With_proc: as below a filter, which may kill for
// other ways than /proc.
static void tell_family(int to, bool with_proc)
{
    struct family family = { .leader = setsid() };
    if (fork() != 0) {
        (void)wait(NULL);
        _exit(0);
    }
    family.parent = getpid();
    if (fork() != 0) {
        (void)wait(NULL);
        _exit(0);
    }
    if (with_proc)
        permitted_expect_filter();
    family.count = facts_read_ancestors(getppid(), family.seen);
    (void)!write(to, &family, sizeof(family));
    _exit(0);
}

static void ancestors_are_the_same_with_proc_and_without(void **state)
{
    (void)state;
    for (int with_proc = 0; with_proc < 2; with_proc++) {
        struct family family = { 0 };
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            tell_family(ends[1], with_proc != 0);
        (void)close(ends[1]);
        ssize_t size = read(ends[0], &family, sizeof(family));
        (void)close(ends[0]);
        (void)waitpid(child, NULL, 0);
        assert_int_equal(size, sizeof(family));
        assert_int_equal(family.count, 2);
        assert_int_equal(family.seen[0], family.parent);
        assert_int_equal(family.seen[1], family.leader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ancestors_are_the_same_with_proc_and_without),
        cmocka_unit_test(limits_of_another_users_process_are_those_in_its_file),
        cmocka_unit_test_setup_teardown(
            a_root_that_is_remembered_is_read_anew_once_it_says_something_else,
            folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests_name("agent/facts", tests, NULL, NULL);
}
