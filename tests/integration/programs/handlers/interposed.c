// SPDX-License-Identifier: Apache-2.0
//
// interposed END: makes calls that libraries put themselves before, and ends by _exit
// or a fault.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static volatile int came;

static void count_signal(int number)
{
    (void)number;
    came++;
}

static void *run(void *context)
{
    raise(SIGUSR1);
    return context;
}

static int run_c11(void *context)
{
    (void)context;
    pthread_kill(pthread_self(), SIGUSR1);
    return 5;
}

int main(int count, char **values)
{
    struct sigaction old;
    struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_ONSTACK };
    stack_t stack;
    pthread_t thread;
    thrd_t thread_c11;
    int result = 0;
    if (count != 2)
        return 2;
    printf("%d", sigaction(SIGTERM, NULL, &old));
    printf(" %d", sigaction(SIGUSR1, &action, &old));
    printf(" %d", signal(SIGBUS, count_signal) == SIG_DFL);
    printf(" %d", signal(SIGBUS, SIG_DFL) == count_signal);
    printf(" %d", sigaltstack(NULL, &stack));
    printf(" %d", stack.ss_flags);
    printf(" %d", pthread_create(&thread, NULL, run, NULL));
    pthread_join(thread, NULL);
    thrd_create(&thread_c11, run_c11, NULL);
    thrd_join(thread_c11, &result);
    kill(getpid(), SIGUSR1);
    printf(" %d %d", result, came);
    printf(" %d\n", dlclose(dlopen("libm.so.6", RTLD_NOW)));
    fflush(stdout);
    if (strcmp(values[1], "crash") == 0)
        *(volatile int *)8 = 1; // crashes here
    _exit(6);
}
