// SPDX-License-Identifier: Apache-2.0
//
// Crashes that somebody else could notice: children, waiters, ports, locks,
// descriptors.
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler/victim.h"

static void in_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        victim_null_write();
    int status = 0;
    waitpid(pid, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void in_many_children(void)
{
    int dead = 0;
    for (int i = 0; i < 16; i++) {
        if (fork() == 0)
            victim_null_write();
    }
    for (int i = 0; i < 16; i++) {
        int status = 0;
        wait(&status);
        dead += WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    }
    _exit(dead);
}

// After a vfork child has crashed on the shared memory, the parent must still be able
// to.
static void in_vfork_child(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        victim_null_write();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
        _exit(1);
    abort();
}

static void on_child(int signal)
{
    (void)signal;
    victim_say("SIGCHLD\n");
}

static void *wait_for_any_child(void *argument)
{
    (void)argument;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid > 0)
            victim_say("a child was returned\n");
    }
    return NULL;
}

static void watch_children(void)
{
    pthread_t thread;
    signal(SIGCHLD, on_child);
    pthread_create(&thread, NULL, wait_for_any_child, NULL);
    victim_null_write();
}

// An orphan's reaper, as a container's first process or a shell's supervisor is.
static void watch_children_as_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    watch_children();
}

static void listen_on_a_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);
    char text[16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 5) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        _exit(95);
    snprintf(text, sizeof(text), "%d\n", ntohs(address.sin_port));
    victim_say(text);
    victim_null_write();
}

static void fill_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (dup(STDERR_FILENO) >= 0)
        ;
    victim_null_write();
}

static void fill_descriptors_for_good(void)
{
    struct rlimit limit = { 64, 64 };
    setrlimit(RLIMIT_NOFILE, &limit);
    while (dup(STDERR_FILENO) >= 0)
        ;
    // The limit binds root too, who may otherwise raise it.
    prctl(PR_CAPBSET_DROP, 24 /* CAP_SYS_RESOURCE */);
    if (setresuid(65534, 65534, 65534) != 0)
        _exit(94);
    prctl(PR_SET_DUMPABLE, 1);
    victim_null_write();
}

// With descriptor 3 taken or free, the channel must end up there.
static void descriptor_three_is_taken(void)
{
    dup2(STDERR_FILENO, 3);
    victim_null_write();
}

static void descriptor_two_is_free(void)
{
    close(STDERR_FILENO);
    victim_null_write();
}

static void hold_a_lock(void)
{
    struct flock lock = { .l_type = F_WRLCK };
    int fd = open("lock", O_RDWR | O_CREAT, 0600);
    if (fcntl(fd, F_SETLK, &lock) != 0)
        _exit(93);
    victim_null_write();
}

static void no_more_processes(void)
{
    setrlimit(RLIMIT_NPROC, &(struct rlimit){ 0, 0 });
    if (setresuid(65534, 65534, 65534) != 0)
        _exit(94);
    victim_null_write();
}

static void ignore_all(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    victim_null_write();
}

const struct victim_way victim_surroundings[] = {
    { "in-child", in_child },
    { "in-many-children", in_many_children },
    { "in-vfork-child", in_vfork_child },
    { "watch-children", watch_children },
    { "listen", listen_on_a_port },
    { "fill-descriptors", fill_descriptors },
    { "fill-descriptors-for-good", fill_descriptors_for_good },
    { "descriptor-three-is-taken", descriptor_three_is_taken },
    { "descriptor-two-is-free", descriptor_two_is_free },
    { "hold-a-lock", hold_a_lock },
    { "watch-children-as-subreaper", watch_children_as_subreaper },
    { "no-more-processes", no_more_processes },
    { "ignore-all", ignore_all },
    { NULL, NULL },
};
