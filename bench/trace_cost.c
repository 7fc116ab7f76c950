// SPDX-License-Identifier: Apache-2.0
//
// trace_cost: operations that a program's tracer is notified of, each in microseconds:
// a signal that is passed on, a fault that its handler recovers from, a thread, a child
// that executes a program. bench/trace.py runs it with and without a tracer.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIGNALS = 20000, THREADS = 2000, CHILDREN = 100 };

static void do_nothing(int number)
{
    (void)number;
}

static void step_over(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    (void)number;
    (void)info;
#if defined(__x86_64__)
    state->uc_mcontext.gregs[REG_RIP] += 2; // ud2
#elif defined(__aarch64__)
    state->uc_mcontext.pc += 4; // udf
#endif
}

static void pass_signal(void)
{
    (void)raise(SIGUSR1);
}

static void recover_from_fault(void)
{
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#elif defined(__aarch64__)
    __asm__ volatile(".inst 0");
#endif
}

static void *end_at_once(void *argument)
{
    return argument;
}

static void make_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) != 0 ||
        pthread_join(thread, NULL) != 0)
        _exit(1);
}

static void make_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)execl("/proc/self/exe", "trace_cost", "end", (char *)NULL);
        _exit(1);
    }
    if (waitpid(child, NULL, 0) != child)
        _exit(1);
}

static void measure(const char *name, void (*act)(void), int rounds)
{
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < rounds; i++)
        act();
    clock_gettime(CLOCK_MONOTONIC, &end);
    double us = (double)(end.tv_sec - begin.tv_sec) * 1e6 +
                (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
    printf("%s %.3f\n", name, us / rounds);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return 0;
    const struct sigaction fault = { .sa_sigaction = step_over,
                                     .sa_flags = SA_SIGINFO };
    (void)signal(SIGUSR1, do_nothing);
    (void)sigaction(SIGILL, &fault, NULL);
    measure("signal", pass_signal, SIGNALS);
    measure("fault", recover_from_fault, SIGNALS);
    measure("thread", make_thread, THREADS);
    measure("child", make_child, CHILDREN);
    return 0;
}
