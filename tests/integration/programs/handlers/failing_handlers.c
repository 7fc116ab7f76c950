// SPDX-License-Identifier: Apache-2.0
//
// failing_handlers HANDLER FAULT [thread]: a program whose own handler of faults fails
// itself. FAULT happens in a function of its own, in a second thread if asked. HANDLER
// may be `blocked`: there is none, and all signals are blocked.
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void handler_fn(int);

static volatile int depth;

__attribute__((noinline)) static void fail_again(void)
{
    *(volatile int *)8 = 1;
}

static void faults(int number)
{
    (void)number;
    fail_again();
}

static void executes_no_code(int number)
{
    (void)number;
    __builtin_trap();
}

static void aborts(int number)
{
    (void)number;
    abort();
}

static void blocks_and_aborts(int number)
{
    sigset_t all;
    (void)number;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    abort();
}

static void blocks_and_faults(int number)
{
    sigset_t all;
    (void)number;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    fail_again();
}

static void asserts(int number)
{
    assert(number == 0);
}

static void frees_twice(int number)
{
    void *volatile block = malloc(number > 0 ? 40 : 50);
    free(block);
    free(block);
}

static void kills_and_returns(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

static void unblocks_and_faults(int number)
{
    sigset_t its;
    sigemptyset(&its);
    sigaddset(&its, number);
    sigprocmask(SIG_UNBLOCK, &its, NULL);
    if (++depth == 3)
        _exit(5);
    fail_again();
}

static void faults_until_reset(int number)
{
    if (++depth == 30)
        signal(number, SIG_DFL);
    fail_again();
}

static void exits(int number)
{
    (void)number;
    _exit(3);
}

enum { NONE, MASKED };

static const struct {
    const char *name;
    handler_fn *run;
    int flags;
    int masked;
} handlers[] = {
    { "faults", faults, SA_RESTART, NONE },
    { "faults-masked", faults, 0, MASKED },
    { "faults-on-stack", faults, SA_ONSTACK, NONE },
    { "faults-again-and-again", faults, SA_NODEFER, NONE },
    { "faults-until-reset", faults_until_reset, SA_NODEFER, NONE },
    { "faults-reset", faults, (int)SA_RESETHAND, NONE },
    { "executes-no-code", executes_no_code, 0, MASKED },
    { "aborts", aborts, 0, NONE },
    { "aborts-masked", aborts, 0, MASKED },
    { "blocks-and-aborts", blocks_and_aborts, 0, NONE },
    { "blocks-and-faults", blocks_and_faults, 0, NONE },
    { "asserts-masked", asserts, 0, MASKED },
    { "frees-twice-masked", frees_twice, 0, MASKED },
    { "kills-and-returns", kills_and_returns, (int)SA_RESETHAND | SA_NODEFER, NONE },
    { "unblocks-and-faults", unblocks_and_faults, 0, NONE },
    { "exits", exits, 0, NONE },
};

__attribute__((noinline)) static void writes(void)
{
    *(volatile int *)24 = 1;
}

__attribute__((noinline)) static void illegal(void)
{
    __builtin_trap();
}

__attribute__((noinline)) static void calls_abort(void)
{
    abort();
}

// NOLINTNEXTLINE(misc-no-recursion): it uses up the stack
__attribute__((noinline)) static int overflows(int level)
{
    volatile char frame[500];
    frame[0] = (char)level;
    return depth >= 0 ? overflows(level + 1) + frame[0] : 0;
}

static void *fault(void *kind)
{
    if (strcmp(kind, "writes") == 0)
        writes();
    if (strcmp(kind, "illegal") == 0)
        illegal();
    if (strcmp(kind, "calls_abort") == 0)
        calls_abort();
    if (strcmp(kind, "overflows") == 0)
        (void)overflows(0);
    return NULL;
}

// crashhook_thread_init is there where the static library is linked.
extern int crashhook_thread_init(void) __attribute__((weak));

static void *fault_in_thread(void *kind)
{
    if (crashhook_thread_init != NULL)
        (void)crashhook_thread_init();
    return fault(kind);
}

static void set(const char *name)
{
    sigset_t all;
    sigfillset(&all);
    if (strcmp(name, "blocked") == 0)
        sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        struct sigaction action = { .sa_handler = handlers[i].run,
                                    .sa_flags = handlers[i].flags };
        if (strcmp(handlers[i].name, name) != 0)
            continue;
        if (handlers[i].masked)
            action.sa_mask = all;
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGILL, &action, NULL);
        sigaction(SIGTRAP, &action, NULL);
    }
}

static void *sleep_on(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 3 && argc != 4)
        return 2;
    set(argv[1]);
    for (int i = 0; argc == 4 && i < 4; i++)
        (void)pthread_create(&thread, NULL, sleep_on, NULL);
    if (argc == 4 && pthread_create(&thread, NULL, fault_in_thread, argv[2]) == 0)
        pthread_join(thread, NULL);
    (void)fault(argv[2]);
    return 0;
}
