// SPDX-License-Identifier: Apache-2.0
//
// strict WHAT: a thread enters strict seccomp mode, in which the kernel ends it for
// every system call but read, write, exit and the return from a signal handler, and
// then does WHAT.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ILLEGAL "ud2"
#else
#define ILLEGAL "udf #0"
#endif

enum { THREADS = 6 };

static volatile int strict;
static int pipe_ends[2];

static void enter_strict_mode(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
        _exit(77);
}

static void write_null(void)
{
    *(volatile int *)8 = 1;
}

static void leave_with_3(int number)
{
    (void)number;
    (void)!write(STDOUT_FILENO, "handler\n", 8);
    syscall(SYS_exit, 3);
}

// skip_instruction lets the program go on after ILLEGAL.
static void skip_instruction(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
#if defined(__x86_64__)
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
#else
    ((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
}

static void wait_in_read(void)
{
    char byte;
    (void)!read(pipe_ends[0], &byte, 1);
}

static void *wait_for_ever(void *unused)
{
    enter_strict_mode();
    strict = 1;
    wait_in_read();
    return unused;
}

// enter_together enters the mode at the same moment as the other threads, spins until
// all have, and then the first of them crashes.
static void *enter_together(void *first)
{
    static volatile int waiting, entered;
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    while (waiting < THREADS)
        continue;
    enter_strict_mode();
    __atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
    while (entered < THREADS || first == NULL)
        continue;
    write_null();
    return first;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    (void)!pipe(pipe_ends);
    if (strcmp(what, "handles") == 0)
        signal(SIGSEGV, leave_with_3);
    if (strcmp(what, "recovers") == 0) {
        struct sigaction action = { .sa_sigaction = skip_instruction,
                                    .sa_flags = SA_SIGINFO };
        sigaction(SIGILL, &action, NULL);
    }
    if (strcmp(what, "elsewhere") == 0) { // another thread crashes than the strict one
        pthread_t thread;
        pthread_create(&thread, NULL, wait_for_ever, NULL);
        while (!strict)
            continue;
        write_null();
    }
    if (strcmp(what, "together") == 0) {
        pthread_t thread;
        for (int i = 1; i < THREADS; i++)
            pthread_create(&thread, NULL, enter_together, i == 1 ? &thread : NULL);
        (void)enter_together(NULL);
    }
    if (strcmp(what, "refused") == 0) { // a filter is active already
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const struct sock_fprog filter = { .len = 1, .filter = &allow };
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0)
            _exit(77);
        write_null();
    }
    enter_strict_mode();
    if (strcmp(what, "illegal") == 0)
        __asm__ volatile(ILLEGAL);
    if (strcmp(what, "recovers") == 0) {
        __asm__ volatile(ILLEGAL);
        (void)!write(STDOUT_FILENO, "recovered\n", 10);
        syscall(SYS_exit, 4);
    }
    if (strcmp(what, "waits") == 0) {
        (void)!write(STDOUT_FILENO, "ready\n", 6);
        wait_in_read();
    }
    write_null();
}
