// SPDX-License-Identifier: Apache-2.0
//
// filters_itself HOW WHAT: sets a seccomp filter, by prctl or by syscall, that kills
// the process for each system call that nothing here makes, and then does WHAT: starts
// threads, ends one that was there, forks, handles SIGTERM, sets actions in a child of
// vfork, executes another program or a shell that forks, also one that ignores SIGABRT
// and with a constant text as LD_PRELOAD, leaves a breadcrumb where the library is,
// exits. With `threads` as HOW two threads set a filter each for all threads at once; a
// number is the one call that is killed for. With `none` it sets no filter, and can do
// `vforks`, too: a child that has the default action for SIGABRT, which is ignored
// here.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void crashhook_breadcrumb(const char *message) __attribute__((weak));

static void filter(const char *how)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1 << 20, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1 << 21, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1 << 22, 4, 0),
        BPF_STMT(BPF_JMP | BPF_JA, 0),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const long call = strtol(how, NULL, 10);
    struct sock_filter one[] = {
        steps[0],
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {
        call != 0 ? sizeof(one) / sizeof(one[0]) : sizeof(steps) / sizeof(steps[0]),
        call != 0 ? one : steps,
    };
    if (strcmp(how, "none") == 0)
        return;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result = strcmp(how, "prctl") == 0 || call != 0
                      ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
                      : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (result != 0)
        _exit(77);
}

static void *filter_all(void *how)
{
    filter(how);
    return NULL;
}

static void filter_twice(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, filter_all, "syscall");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *read_byte(void *pipe)
{
    char byte;
    (void)!read(*(int *)pipe, &byte, 1);
    return NULL;
}

static void start_and_join(int *ends)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, read_byte, ends);
    (void)!write(ends[1], "1234", 4); // one is for the thread that was there before
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void say_handled(int number)
{
    (void)!write(STDOUT_FILENO, "handled\n", 8);
    (void)number;
}

static void vfork_and_abort(void)
{
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        execl("/bin/sh", "sh", "-c", "kill -ABRT $$; exit 4", NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    printf("%d\n", status & 0x7f);
}

static void set_in_child(void)
{
    struct sigaction now = { 0 };
    signal(SIGSEGV, say_handled);
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGSEGV, SIG_IGN);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sigaction(SIGSEGV, NULL, &now);
    puts(now.sa_handler == say_handled ? "own" : "the child's");
}

int main(int count, char **words)
{
    int ends[2];
    int status = 0;
    pthread_t thread;
    const pid_t self = getpid();
    if (count < 3 || pipe(ends) != 0)
        return 2;
    pthread_create(&thread, NULL, read_byte, ends);
    signal(SIGTERM, say_handled);
    const char *what = words[2];
    if (strcmp(what, "ignores") == 0 || strcmp(what, "vforks") == 0)
        signal(SIGABRT, SIG_IGN);
    if (strcmp(what, "ignores") == 0)
        putenv((char *)(uintptr_t) "LD_PRELOAD=");
    if (strcmp(words[1], "threads") == 0)
        filter_twice();
    else
        filter(words[1]);
    if (strcmp(what, "vforks") == 0)
        vfork_and_abort();
    if (strcmp(what, "sets") == 0)
        set_in_child();
    if (strcmp(what, "threads") == 0)
        start_and_join(ends);
    if (strcmp(what, "ends") == 0) {
        (void)!write(ends[1], "1", 1);
        pthread_join(thread, NULL);
    }
    if (strcmp(what, "term") == 0)
        kill(self, SIGTERM);
    if (strcmp(what, "forks") == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(5);
        waitpid(child, &status, 0);
        printf("%d\n", status);
    }
    if (strcmp(what, "executes") == 0 || strcmp(what, "ignores") == 0)
        execl("/bin/echo", "echo", "executed", NULL);
    if (strcmp(what, "shells") == 0)
        execl("/bin/sh", "sh", "-c", "(:); echo executed", NULL);
    if ((strcmp(what, "tells") == 0 || strcmp(what, "dies") == 0) &&
        crashhook_breadcrumb != NULL)
        crashhook_breadcrumb("filtered");
    if (strcmp(what, "dies") == 0)
        syscall(strtol(words[1], NULL, 10), 0, NULL);
    if (strcmp(what, "_exit") == 0)
        _exit(6);
    return 7;
}
