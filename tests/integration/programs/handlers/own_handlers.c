// SPDX-License-Identifier: Apache-2.0
//
// own_handlers SET END [thread|threads]: a program with a handler of its own for
// SIGSEGV, put in place by SET; a null write, in a second thread if asked, beside eight
// that sleep, brings it, and it ends the program by END.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

// The fault comes again, and the other handler is asked.
static void replace(int number)
{
    signal(number, by_abort);
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

// Signals that are not crashes, by every call of libc that sends one.
static void raise_term(int number)
{
    (void)number;
    raise(SIGTERM);
}

static void kill_int(int number)
{
    (void)number;
    kill(getpid(), SIGINT);
    for (;;) // the signal may reach another thread
        pause();
}

static void kill_kill(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void tgkill_pipe(int number)
{
    (void)number;
    tgkill(getpid(), gettid(), SIGPIPE);
}

static void pthread_kill_usr1(int number)
{
    (void)number;
    pthread_kill(pthread_self(), SIGUSR1);
}

static void sigqueue_usr2(int number)
{
    (void)number;
    sigqueue(getpid(), SIGUSR2, (union sigval){ .sival_int = 1 });
    for (;;)
        pause();
}

static void raw_kill(int number)
{
    (void)number;
    syscall(SYS_kill, getpid(), SIGKILL);
}

// A handler that hangs is ended by the timer that it has set.
static void hang_until_alarm(int number)
{
    const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
    (void)number;
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;)
        pause();
}

// What does not end the process is not how the handler ends it.
static void harmless_then_abort(int number)
{
    (void)number;
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    kill(getpid(), 0);
    raise(SIGWINCH);
    abort();
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
    { "replace", replace },
    { "exit", by_exit },
    { "_exit", by_exit_now },
    { "_Exit", by_exit_iso },
    { "quick_exit", by_quick_exit },
    { "raise-term", raise_term },
    { "kill-int", kill_int },
    { "kill-kill", kill_kill },
    { "tgkill-pipe", tgkill_pipe },
    { "pthread-kill-usr1", pthread_kill_usr1 },
    { "sigqueue-usr2", sigqueue_usr2 },
    { "raw-kill", raw_kill },
    { "alarm", hang_until_alarm },
    { "harmless-then-abort", harmless_then_abort },
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

static void *run_bug(void *nothing)
{
    bug((int *)24);
    return nothing;
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
    end = argv[2];
    set(argv[1]);
    if (before.sa_handler != SIG_DFL || before_simple != SIG_DFL)
        say("there was a handler before\n");
    for (int i = 0; argc == 4 && strcmp(argv[3], "threads") == 0 && i < 8; i++)
        (void)pthread_create(&thread, NULL, sleep_on, NULL);
    if (argc == 4 && pthread_create(&thread, NULL, run_bug, NULL) == 0)
        pthread_join(thread, NULL);
    bug((int *)24);
    return 0;
}
