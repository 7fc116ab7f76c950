// SPDX-License-Identifier: Apache-2.0
//
// confined WAY: a program that has an agent from its start (CRASHHOOK_MODE=daemon), and
// then cannot start any, or does to its descriptors and children what programs do.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *nowhere;

static void crash(void)
{
    *nowhere = 1;
}

// forbid answers every way to make a process or become another program.
static void forbid(unsigned answer)
{
    static const int calls[] = { SYS_clone, SYS_clone3, SYS_execve, SYS_execveat };
    struct sock_filter filter[16];
    unsigned short used = 0;
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                      (unsigned)calls[i], 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { used, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

static void fork_and_crash(int count)
{
    int status;
    int crashed = 0;
    for (int i = 0; i < count; i++) {
        if (fork() == 0)
            crash();
    }
    while (wait(&status) > 0)
        crashed += WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    (void)printf("%d crashed\n", crashed);
    (void)fflush(stdout);
}

// reuse_descriptors puts sockets of our own wherever there was a descriptor, and says
// what came through them in the crash of a child.
static void reuse_descriptors(void)
{
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        _exit(77);
    for (int fd = 5; fd < 1024; fd++)
        (void)dup2(ends[0], fd);
    pid_t pid = fork();
    if (pid == 0)
        crash();
    (void)waitpid(pid, NULL, 0);
    ssize_t count = recv(ends[1], &byte, 1, MSG_DONTWAIT);
    (void)printf("%s\n", count == 1 ? "strange byte" : "nothing");
    (void)fflush(stdout);
}

// outlive ends on SIGUSR1, and leaves a child that prints its number, and crashes on
// SIGUSR1.
static void outlive(void)
{
    sigset_t told;
    int number;
    (void)sigemptyset(&told);
    (void)sigaddset(&told, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &told, NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)printf("%d\n", (int)getpid());
        (void)fflush(stdout);
    }
    (void)sigwait(&told, &number);
    if (child != 0)
        exit(0);
    forbid(SECCOMP_RET_ERRNO | EPERM);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "refused") == 0)
        forbid(SECCOMP_RET_ERRNO | EPERM);
    if (strcmp(way, "killed") == 0)
        forbid(SECCOMP_RET_KILL_PROCESS);
    if (strcmp(way, "trapped") == 0)
        forbid(SECCOMP_RET_TRAP);
    if (strcmp(way, "forks") == 0)
        fork_and_crash(8);
    if (strcmp(way, "closes") == 0)
        closefrom(3);
    if (strcmp(way, "reuses") == 0)
        reuse_descriptors();
    if (strcmp(way, "outlives") == 0)
        outlive();
    if (strcmp(way, "waits") == 0)
        (void)printf("%s\n", waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD
                                 ? "no child"
                                 : "a child");
    (void)fflush(stdout);
    if (strcmp(way, "ends") == 0)
        return 0;
    if (strcmp(way, "executes") == 0)
        execl("/bin/true", "true", (char *)NULL);
    crash();
}
