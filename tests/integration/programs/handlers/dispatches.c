// SPDX-License-Identifier: Apache-2.0
//
// dispatches HOW RANGE STACK: answers its own system calls in a handler of SIGSYS and
// says how many came, so that one of the library's is noticed. HOW: dispatch (by
// PR_SET_SYSCALL_USER_DISPATCH), filter (by a seccomp filter that traps), nobody (as
// dispatch, without a handler), crash (as dispatch, and then it crashes). RANGE: none,
// libc (whose calls are not dispatched). STACK: thread, asked (SA_ONSTACK), own,
// nodefer.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { DISPATCH = 59, ANSWER = 4242 }; // PR_SET_SYSCALL_USER_DISPATCH

static volatile char selector;
static volatile int answered;
static volatile long last;
static bool keeps; // the handler returns with calls dispatched
static char *page;

static void answer(int number, siginfo_t *info, void *context)
{
    (void)number;
    char before = selector;
    selector = 0;
    answered++;
    last = info->si_syscall;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = ANSWER;
    if (keeps)
        selector = before;
}

static void make_readable(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    // The page cannot be made accessible here: that is a call.
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void nothing(int number)
{
    (void)number;
}

static long call(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number) : "rcx", "r11", "memory");
    return result;
}

// fault is one instruction of two bytes.
static void fault(void)
{
    __asm__ volatile("movb %%al, (%%rdx)" ::"a"(1), "d"(page) : "memory");
}

static void set(int number, void (*handler)(int, siginfo_t *, void *),
                const char *stack)
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    if (strcmp(stack, "asked") == 0 || strcmp(stack, "own") == 0)
        action.sa_flags |= SA_ONSTACK;
    if (strcmp(stack, "nodefer") == 0)
        action.sa_flags |= SA_NODEFER;
    sigaction(number, &action, NULL);
}

// libc_range finds the mapping with libc's code.
static void libc_range(uintptr_t *from, uintptr_t *bytes)
{
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *at;
        uintptr_t low = strtoul(line, &at, 16);
        uintptr_t end = strtoul(at + 1, &at, 16);
        if ((uintptr_t)&strtol >= low && (uintptr_t)&strtol < end) {
            *from = low;
            *bytes = end - low;
        }
    }
    if (file != NULL)
        fclose(file);
}

static void *end_at_once(void *context)
{
    return context;
}

static int dispatch(const char *how, bool has_range)
{
    uintptr_t from = 0;
    uintptr_t bytes = 0;
    pthread_t thread;
    keeps = has_range;
    if (has_range)
        libc_range(&from, &bytes);
    if (prctl(DISPATCH, 1, from, bytes, &selector) != 0)
        return 77;
    for (int i = 0; i < 3; i++) {
        selector = 1;
        if (call(SYS_getppid) != ANSWER)
            return 3;
    }
    if (has_range) {
        // libc's own calls are allowed, and so is what the library does for them.
        stack_t now;
        struct sigaction query;
        selector = 1;
        fault();
        signal(SIGBUS, nothing);
        signal(SIGUSR1, nothing);
        sigaction(SIGILL, NULL, &query);
        sigaltstack(NULL, &now);
        raise(SIGUSR1);
        raise(SIGUSR2);
        signal(SIGTERM, nothing);
        raise(SIGTERM);
        execl("/nonexistent/program", "program", (char *)NULL);
    } else {
        // The handler of the fault returns by a call that is to be allowed.
        selector = 0;
        fault();
    }
    if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        selector = 1;
        fault(); // crashes here
    }
    selector = 0;
    prctl(DISPATCH, 0, 0, 0, 0);
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
        pthread_join(thread, NULL);
    return 0;
}

// trap_most traps all but what the handler and the end need.
static int trap_most(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 77;
    for (int i = 0; i < 3; i++)
        if (call(SYS_getppid) != ANSWER)
            return 3;
    fault();
    return 0;
}

int main(int count, char **values)
{
    char line[128];
    if (count != 4)
        return 2;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(values[3], "own") == 0) {
        stack_t own = { .ss_sp = malloc(65536), .ss_size = 65536 };
        sigaltstack(&own, NULL);
    }
    if (strcmp(values[1], "nobody") != 0)
        set(SIGSYS, answer, values[3]);
    set(SIGSEGV, make_readable, values[3]);
    set(SIGUSR2, make_readable, "asked");
    signal(SIGUSR2, nothing);
    int status = strcmp(values[1], "filter") == 0
                     ? trap_most()
                     : dispatch(values[1], strcmp(values[2], "libc") == 0);
    int length = snprintf(line, sizeof(line), "%d: answered %d, the last %ld\n", status,
                          answered, last);
    if (write(1, line, (size_t)length) != length)
        return 4;
    _exit(status);
}
