// SPDX-License-Identifier: Apache-2.0
//
// unnoticed CASE: does what a healthy program may do with the signals that a crash
// reporter handles, and prints what it sees of them.
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const int numbers[] = { SIGSEGV, SIGABRT, SIGTRAP, SIGBUS };
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]), AUTODISARM = 1u << 31 };

static volatile int calls;
static sigjmp_buf back;

static void count_call(int number)
{
    calls += number;
}

static void jump_back(int number)
{
    siglongjmp(back, number);
}

static void *give_back(void *value)
{
    return value;
}

static const char *name_of(void (*handler)(int))
{
    return handler == SIG_DFL ? "default" : handler == SIG_IGN ? "ignored" : "handled";
}

static void show(const char *when)
{
    for (int i = 0; i < NUMBERS; i++) {
        struct sigaction action;
        int result = sigaction(numbers[i], NULL, &action);
        printf("%s %d: %d %s\n", when, numbers[i], result, name_of(action.sa_handler));
    }
}

static void set_all(void (*handler)(int))
{
    for (int i = 0; i < NUMBERS; i++)
        signal(numbers[i], handler);
}

static void reap(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %x\n", status);
}

// Signals that the program sends itself, whose handlers return or which it ignores.
static void send_all(void)
{
    const union sigval value = { .sival_int = 1 };
    for (int i = 0; i < NUMBERS; i++) {
        raise(numbers[i]);
        kill(getpid(), numbers[i]);
        sigqueue(getpid(), numbers[i], value);
    }
    printf("%d\n", calls);
}

static void sends(void)
{
    set_all(count_call);
    send_all();
    set_all(SIG_IGN);
    send_all();
}

// A child whose handlers the kernel has cleared.
static void clears(void)
{
    struct clone_args how = { .flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD };
    set_all(count_call);
    pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
    if (child == 0) {
        show("cleared");
        printf("%s\n", name_of(signal(SIGSEGV, SIG_IGN)));
        show("set");
        exit(3);
    }
    reap(child);
    show("parent");
}

static void vforks(void)
{
    static struct sigaction seen;
    set_all(count_call);
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGSEGV, SIG_IGN);
        sigaction(SIGSEGV, NULL, &seen);
        _exit(4);
    }
    reap(child);
    printf("%s\n", name_of(seen.sa_handler));
    show("parent");
}

// Actions that are set past libc.
static void directly(void)
{
    static const uint64_t ignored[4] = { (uintptr_t)SIG_IGN };
    set_all(count_call);
    syscall(SYS_rt_sigaction, SIGSEGV, ignored, NULL, 8);
    show("directly");
    printf("%s\n", name_of(signal(SIGSEGV, SIG_DFL)));
    show("then");
}

static void spawns(void)
{
    FILE *(*const open_command)(const char *, const char *) = popen;
    static char *const words[] = { "grep", "SigIgn", "/proc/self/status", NULL };
    static char *const none[] = { NULL };
    char line[64] = "";
    pid_t child = 0;
    set_all(SIG_IGN);
    unsetenv("LD_PRELOAD"); // grep itself would handle what it ignores
    if (posix_spawnp(&child, "grep", NULL, NULL, words, environ) == 0)
        reap(child);
    if (posix_spawn(&child, "/bin/grep", NULL, NULL, words, none) == 0)
        reap(child);
    printf("%d\n", posix_spawn(&child, "/nonexistent", NULL, NULL, words, environ));
    FILE *stream = open_command("grep SigIgn /proc/self/status", "r");
    printf("%s", fgets(line, sizeof(line), stream));
    printf("%d\n", pclose(stream));
    show("after");
}

// A stack that the thread does not have while a handler runs, nor after a longjmp.
static void disarms(void)
{
    struct sigaction action = { .sa_handler = jump_back, .sa_flags = SA_ONSTACK };
    stack_t stack = { .ss_size = 1 << 16, .ss_flags = (int)AUTODISARM };
    stack_t now;
    stack.ss_sp = malloc(stack.ss_size);
    printf("%d\n", sigaltstack(&stack, NULL));
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 4; i++) {
        if (sigsetjmp(back, 1) == 0)
            raise(i % 2 == 0 ? SIGUSR1 : SIGSEGV);
        sigaltstack(NULL, &now);
        printf("%x %d\n", now.ss_flags, now.ss_sp == stack.ss_sp);
        if (i == 1)
            sigaltstack(&stack, NULL);
    }
    action.sa_handler = count_call;
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&stack, NULL);
    raise(SIGUSR1);
    sigaltstack(NULL, &now);
    printf("%x %d\n", now.ss_flags, now.ss_sp == stack.ss_sp);
}

// As many keys as there are, all but the last before there is a thread.
static void takes_keys(void)
{
    pthread_key_t key;
    pthread_t thread;
    int made = 0;
    while (made < PTHREAD_KEYS_MAX - 1 && pthread_key_create(&key, NULL) == 0)
        made++;
    pthread_create(&thread, NULL, give_back, NULL);
    pthread_join(thread, NULL);
    while (pthread_key_create(&key, NULL) == 0)
        made++;
    printf("%d\n", made);
}

static int count_threads(void)
{
    char line[256];
    int count = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && count == 0 && fgets(line, sizeof(line), status) != NULL)
        (void)sscanf(line, "Threads: %d", &count);
    if (status != NULL)
        fclose(status);
    return count;
}

// A thread that was joined is no longer there, but for the moment that the kernel
// takes.
static void joins(void)
{
    enum { TIMES = 100 };
    pthread_t thread;
    int there = 0;
    for (int i = 0; i < TIMES; i++) {
        pthread_create(&thread, NULL, give_back, NULL);
        pthread_join(thread, NULL);
        there += count_threads() > 1;
    }
    printf("%s\n", there < TIMES / 2 ? "gone" : "there");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = { { "sends", sends },       { "clears", clears }, { "vforks", vforks },
              { "directly", directly }, { "spawns", spawns }, { "disarms", disarms },
              { "keys", takes_keys },   { "joins", joins } };

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (count > 1 && strcmp(words[1], cases[i].name) == 0)
            cases[i].run();
    }
    return 0;
}
