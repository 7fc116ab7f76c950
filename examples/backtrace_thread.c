// SPDX-License-Identifier: Apache-2.0
//
// What is that thread doing? A watchdog captures a worker that is blocked in a call.
#define _GNU_SOURCE
#include <crashhook/backtrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int work[2];
static int ready[2];

__attribute__((noinline)) static void wait_for_work(void)
{
    char byte;
    pid_t tid = gettid();
    if (write(ready[1], &tid, sizeof(tid)) == sizeof(tid) &&
        read(work[0], &byte, 1) == 1)
        puts("the worker noticed nothing");
}

static void *run_worker(void *unused)
{
    wait_for_work();
    return unused;
}

int main(void)
{
    pthread_t worker;
    pid_t tid;
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (pipe(work) != 0 || pipe(ready) != 0 ||
        pthread_create(&worker, NULL, run_worker, NULL) != 0 ||
        read(ready[0], &tid, sizeof(tid)) != sizeof(tid))
        return 1;

    int error = crashhook_backtrace_capture_thread(tid, NULL, &backtrace);
    if (error != 0) {
        fprintf(stderr, "cannot look at thread %d: %s\n", tid, strerror(error));
        return 77;
    }
    if (crashhook_backtrace_symbolicate(backtrace, NULL,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) != 0)
        return 1;
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_MEDIUM);
    puts(text != NULL ? text : "");
    free(text);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
    if (write(work[1], "w", 1) != 1)
        return 1;
    return pthread_join(worker, NULL);
}
