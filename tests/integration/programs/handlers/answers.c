// SPDX-License-Identifier: Apache-2.0
//
// Sets actions of signals in every way there is and prints what it is answered, with
// names for addresses: the same without crashhook as with it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

typedef void handler_fn(int);

handler_fn *bsd_signal(int number, handler_fn *handler); // not in newer headers

static volatile int calls;

static void first(int number)
{
    (void)number;
    calls++;
}

static void second(int number)
{
    (void)number;
    calls += 10;
}

static void reset(int number)
{
    struct sigaction now;
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaction(number, NULL, &now);
    printf("in the handler: default %d, blocks itself %d, blocks USR1 %d\n",
           now.sa_handler == SIG_DFL, sigismember(&blocked, number),
           sigismember(&blocked, SIGUSR1));
}

static const char *name_of(handler_fn *handler)
{
    if (handler == SIG_DFL)
        return "default";
    if (handler == SIG_IGN)
        return "ignored";
    if (handler == SIG_ERR)
        return "error";
    if (handler == (handler_fn *)2)
        return "held";
    return handler == first ? "first" : handler == second ? "second" : "unknown";
}

static void show(const char *what, int number)
{
    struct sigaction now;
    uint64_t mask;
    if (sigaction(number, NULL, &now) != 0) {
        printf("%s: %d refused\n", what, number);
        return;
    }
    memcpy(&mask, &now.sa_mask, sizeof(mask));
    printf("%s: %d %s flags %x mask %llx\n", what, number, name_of(now.sa_handler),
           (unsigned)now.sa_flags & ~0x04000000u, (unsigned long long)mask);
}

static void set_each_way(int number)
{
    struct sigaction action = { .sa_handler = first,
                                .sa_flags = SA_ONSTACK | SA_NODEFER };
    struct sigaction old;
    show("at the start", number);
    sigfillset(&action.sa_mask);
    sigaction(number, &action, &old);
    show("sigaction", number);
    printf("signal after %s\n", name_of(signal(number, second)));
    show("signal", number);
    printf("bsd_signal after %s\n", name_of(bsd_signal(number, first)));
    siginterrupt(number, 1);
    show("siginterrupt", number);
    printf("signal after %s\n", name_of(signal(number, second)));
    show("signal that interrupts", number);
    siginterrupt(number, 0);
    printf("sysv_signal after %s\n", name_of(sysv_signal(number, first)));
    show("sysv_signal", number);
    printf("sigset after %s\n", name_of(sigset(number, second)));
    show("sigset", number);
    printf("sigset to hold after %s\n", name_of(sigset(number, (handler_fn *)2)));
    printf("sigset when held after %s\n", name_of(sigset(number, first)));
    sigignore(number);
    show("sigignore", number);
    printf("signal to default after %s\n", name_of(signal(number, SIG_DFL)));
    show("default", number);
}

// deliver has the signal come while it is handled with these flags.
static void deliver(int number, int flags)
{
    struct sigaction action = { .sa_handler = reset, .sa_flags = flags };
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(number, &action, NULL);
    raise(number);
    signal(number, SIG_DFL);
}

// A child of vfork runs in its parent's memory, and sets actions for what it executes.
static void set_in_child(int number)
{
    signal(number, first);
    pid_t pid = vfork();
    if (pid == 0) {
        signal(number, SIG_DFL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    show("after a child's", number);
    calls = 0;
    raise(number);
    printf("called %d\n", calls);
    signal(number, SIG_DFL);
}

// refuse_actions has the kernel refuse every sigaction from now on.
static void refuse_actions(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        printf("no filter\n");
}

static void set_refused(int number)
{
    const struct sigaction action = { .sa_handler = second };
    errno = 0;
    printf("sigaction refused: %d", sigaction(number, &action, NULL));
    printf(" %d\n", errno);
    printf("signal refused: %s\n", name_of(signal(number, second)));
    show("queried", number);
    calls = 0;
    raise(number);
    printf("called %d\n", calls);
}

int main(void)
{
    static const int numbers[] = { SIGSEGV, SIGABRT, SIGTRAP, SIGUSR2, SIGQUIT };
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        set_each_way(numbers[i]);
        deliver(numbers[i], 0);
        deliver(numbers[i], SA_NODEFER | SA_ONSTACK);
        deliver(numbers[i], (int)SA_RESETHAND);
        set_in_child(numbers[i]);
    }
    printf("signal of nothing: %s\n", name_of(signal(0, first)));
    printf("signal of too much: %s\n", name_of(signal(65, first)));
    printf("signal of KILL: %s\n", name_of(signal(SIGKILL, first)));
    signal(SIGSEGV, first);
    signal(SIGUSR2, first);
    refuse_actions();
    set_refused(SIGSEGV);
    set_refused(SIGUSR2);
    return 0;
}
