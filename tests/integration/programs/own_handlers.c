// SPDX-License-Identifier: Apache-2.0
//
// own_handlers SET END: a program with a handler of its own for SIGSEGV, put in place
// by SET; a null write brings it, and it ends the program by END.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void handler_fn(int);

handler_fn *bsd_signal(int number, handler_fn *handler); // not in newer headers

static const char *end;
static struct sigaction before;
static handler_fn *before_simple;

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(3);
}

static void by_default_and_raise(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void restore(int number)
{
    sigaction(number, &before, NULL);
}

static void restore_and_raise(int number)
{
    sigaction(number, &before, NULL);
    raise(number);
}

static void unblock_and_raise(int number)
{
    sigset_t all;
    sigfillset(&all);
    signal(number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(number);
}

static void by_abort(int number)
{
    (void)number;
    abort();
}

static void by_exit(int number)
{
    (void)number;
    exit(7);
}

static void by_exit_now(int number)
{
    (void)number;
    _exit(7);
}

static void by_exit_iso(int number)
{
    (void)number;
    _Exit(7);
}

static void by_quick_exit(int number)
{
    (void)number;
    quick_exit(7);
}

static void chain(int number)
{
    if (before_simple != SIG_DFL && before_simple != SIG_ERR)
        before_simple(number);
    abort();
}

// A child of the handler's, such as a debugger that it starts, is not the program.
static void fork_and_exit(int number)
{
    if (fork() == 0)
        _exit(0);
    by_default_and_raise(number);
}

static const struct {
    const char *name;
    handler_fn *run;
} ends[] = {
    { "default-raise", by_default_and_raise },
    { "default-return", NULL },
    { "restore-return", restore },
    { "restore-raise", restore_and_raise },
    { "unblock-raise", unblock_and_raise },
    { "abort", by_abort },
    { "exit", by_exit },
    { "_exit", by_exit_now },
    { "_Exit", by_exit_iso },
    { "quick_exit", by_quick_exit },
    { "chain", chain },
    { "fork", fork_and_exit },
};

static void handle(int number)
{
    say("own handler\n");
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (strcmp(ends[i].name, end) == 0 && ends[i].run != NULL)
            ends[i].run(number);
        else if (strcmp(ends[i].name, end) == 0)
            signal(number, SIG_DFL);
    }
}

static void handle_with_context(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    handle(number);
}

__attribute__((noinline)) static void bug(volatile int *pointer)
{
    *pointer = 1; // crashes here
}

static void set(const char *way)
{
    struct sigaction action = { .sa_handler = handle };
    if (strcmp(way, "signal") == 0)
        before_simple = signal(SIGSEGV, handle);
    if (strcmp(way, "bsd_signal") == 0)
        before_simple = bsd_signal(SIGSEGV, handle);
    if (strcmp(way, "sysv_signal") == 0)
        before_simple = sysv_signal(SIGSEGV, handle);
    if (strcmp(way, "sigset") == 0)
        before_simple = sigset(SIGSEGV, handle);
    if (strcmp(way, "sigaction") == 0)
        sigaction(SIGSEGV, &action, &before);
    if (strcmp(way, "siginfo") == 0) {
        action.sa_sigaction = handle_with_context;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | (int)SA_RESETHAND;
        sigfillset(&action.sa_mask);
        sigaction(SIGSEGV, &action, &before);
    }
    if (strcmp(way, "sigaction") != 0 && strcmp(way, "siginfo") != 0)
        before.sa_handler = before_simple;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    end = argv[2];
    set(argv[1]);
    if (before.sa_handler != SIG_DFL || before_simple != SIG_DFL)
        say("there was a handler before\n");
    bug((int *)24);
    return 0;
}
