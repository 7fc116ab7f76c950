// SPDX-License-Identifier: Apache-2.0
//
// crash_loop RATE SECONDS: starts RATE processes a second that crash at once, and
// prints how many there were, how many could not be started, and how many milliseconds
// the slowest took until it could be waited for; -1: one took more than a minute.
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 8192, LAST_WAIT_S = 60 };

static struct {
    pid_t pid; // 0: free
    int64_t began_ns;
} processes[AT_ONCE];
static volatile int *volatile nowhere;
static int64_t slowest_ns;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void crash_in_loop(void)
{
    *nowhere = 1;
}

static bool start_one(void)
{
    for (int i = 0; i < AT_ONCE; i++) {
        if (processes[i].pid != 0)
            continue;
        processes[i].began_ns = now_ns();
        pid_t child = fork();
        if (child == 0)
            crash_in_loop();
        processes[i].pid = child > 0 ? child : 0;
        return child > 0;
    }
    return false;
}

static bool reap_all(void)
{
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (int i = 0; i < AT_ONCE; i++) {
            if (processes[i].pid != child)
                continue;
            int64_t took_ns = now_ns() - processes[i].began_ns;
            slowest_ns = took_ns > slowest_ns ? took_ns : slowest_ns;
            processes[i].pid = 0;
            break;
        }
    }
    return child < 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const long rate = strtol(argv[1], NULL, 10);
    const long count = rate * strtol(argv[2], NULL, 10);
    const struct timespec short_time = { .tv_nsec = 200000 };
    const int64_t began_ns = now_ns();
    long refused = 0;
    for (long i = 0; i < count; i++) {
        while (now_ns() - began_ns < i * INT64_C(1000000000) / rate) {
            (void)reap_all();
            nanosleep(&short_time, NULL);
        }
        refused += !start_one();
    }
    const int64_t end_ns = now_ns() + LAST_WAIT_S * INT64_C(1000000000);
    bool all = false;
    while (!(all = reap_all()) && now_ns() < end_ns)
        nanosleep(&short_time, NULL);
    printf("%ld %ld %ld\n", count, refused, all ? (long)(slowest_ns / 1000000) : -1);
    return 0;
}
