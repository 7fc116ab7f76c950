// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook run` watches, built in every way a program can be: crashes as the
// first argument says.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

__attribute__((noinline)) static int write_through(volatile int *pointer)
{
    *pointer = 1; // crashes here
    return *pointer + 1;
}

__attribute__((noinline)) static long forbidden_call(void)
{
    return syscall(SYS_getppid) + 1;
}

__attribute__((noinline)) static int use_up(int depth)
{
    volatile char room[4096];
    memset((void *)room, depth, sizeof(room));
    return use_up(depth + 1) + room[depth % 100];
}

static void *crash_in_thread(void *argument)
{
    write_through((int *)16);
    return argument;
}

static void *sleep_in_thread(void *argument)
{
    pause();
    return argument;
}

static int with_threads(int count)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&thread, &attributes, sleep_in_thread, NULL) != 0)
            return 9;
    }
    if (pthread_create(&thread, &attributes, crash_in_thread, NULL) != 0)
        return 9;
    return pthread_join(thread, NULL);
}

static void filter_call(unsigned call, unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { 4, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        exit(9);
}

static int with_filter(unsigned action)
{
    filter_call(SYS_getppid, action);
    return (int)forbidden_call();
}

static void *die_alone(void *argument)
{
    (void)with_filter(SECCOMP_RET_KILL_THREAD);
    return argument;
}

// Its filter kills a thread, and it goes on.
static int outlive_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, die_alone, NULL) != 0)
        return 9;
    (void)pthread_join(thread, NULL);
    return 5;
}

static int without_ptrace(char **command)
{
    filter_call(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM);
    return execv(command[0], command);
}

static int in_child(void)
{
    int status = 0;
    if (fork() == 0)
        write_through((int *)16);
    wait(&status);
    return WIFSIGNALED(status) ? 40 + WTERMSIG(status) : 9;
}

static void recover(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    signal(SIGSEGV, SIG_DFL);
    if (info->si_addr == (void *)32)
        raise(SIGSEGV);
}

// Its own handler ends it, of a fault at 32, or lets the fault come again.
static int with_handler(int *pointer)
{
    struct sigaction action = { .sa_sigaction = recover, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, NULL);
    return write_through(pointer);
}

static volatile sig_atomic_t counted;

static void count(int number)
{
    (void)number;
    counted++;
}

// passed prints the nanoseconds that a caught signal takes, created a thread's, forked
// a child's that executes something.
static int passed(int number)
{
    enum { ROUNDS = 2000 };
    struct timespec begin;
    struct timespec end;
    signal(number, count);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < ROUNDS; i++)
        raise(number);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld\n",
           ((end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec) /
               ROUNDS);
    return counted == ROUNDS ? 0 : 9;
}

static void say_number(int number)
{
    char digits[] = { (char)('0' + number / 10), (char)('0' + number % 10), '\n' };
    int skip = number < 10;
    (void)!write(1, digits + skip, sizeof(digits) - (size_t)skip);
}

// Says each signal that it gets.
static int listen_to_signals(void)
{
    for (int number = 1; number < 65; number++)
        (void)signal(number, say_number);
    (void)!write(1, "ready\n", 6);
    for (;;)
        pause();
}

// Sleeps in a call that a stop makes answer EINTR while ignored signals come.
static int sleep_undisturbed(void)
{
    int fd = epoll_create1(0);
    struct epoll_event event;
    signal(SIGUSR1, SIG_IGN);
    if (fork() == 0) {
        for (int i = 0; i < 20; i++) {
            kill(getppid(), i % 2 != 0 ? SIGUSR1 : SIGWINCH);
            usleep(5000);
        }
        _exit(0); // and SIGCHLD
    }
    return epoll_wait(fd, &event, 1, 400) == 0 ? 0 : 9;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "write") == 0)
        return write_through((int *)16);
    if (strcmp(what, "thread") == 0)
        return with_threads(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1);
    if (strcmp(what, "child") == 0)
        return in_child();
    if (strcmp(what, "exec") == 0)
        return execl(argv[0], argv[0], "write", (char *)NULL);
    if (strcmp(what, "abort") == 0)
        abort();
    if (strcmp(what, "assert") == 0)
        assert(argc > 100);
    if (strcmp(what, "stack") == 0)
        return use_up(1);
    if (strcmp(what, "kill-process") == 0)
        return with_filter(SECCOMP_RET_KILL_PROCESS);
    if (strcmp(what, "kill-thread") == 0)
        return outlive_thread();
    if (strcmp(what, "without-ptrace") == 0)
        return without_ptrace(argv + 2);
    if (strcmp(what, "trap") == 0)
        return with_filter(SECCOMP_RET_TRAP);
    if (strcmp(what, "raise-again") == 0)
        return with_handler((int *)32);
    if (strcmp(what, "handler") == 0)
        return with_handler((int *)16);
    if (strcmp(what, "listen") == 0)
        return listen_to_signals();
    if (strcmp(what, "undisturbed") == 0)
        return sleep_undisturbed();
    if (strcmp(what, "passed") == 0)
        return passed((int)strtol(argv[2], NULL, 10));
    for (int i = 0; strcmp(what, "leak") == 0 && i < 64; i++) {
        // A pointer to the last may be left in a register or on the stack.
        if (*(volatile char *)memset(malloc(7), 0, 7) != 0 || i == 63)
            return 0;
    }
    puts("healthy");
    return 3;
}
