// SPDX-License-Identifier: Apache-2.0
#include "ruins.h"

#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int *volatile nowhere;

void ruin_and_crash(const uint64_t *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iovec from = { (void *)(uintptr_t)&pairs[2 * i + 1], sizeof(*pairs) };
        struct iovec to = { (void *)(uintptr_t)pairs[2 * i], sizeof(*pairs) };
        ssize_t written = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
        (void)written;
    }
    *nowhere = 1; // crashes here
}

static long ruin_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ruin_in_child(long number, const uint64_t *pairs, size_t count)
{
    long begin = ruin_clock_us();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        ruin_and_crash(pairs, count);
    }
    (void)waitpid(child, &status, 0);
    printf("ruin %ld %d %d %ld\n", number, child, status, ruin_clock_us() - begin);
    (void)fflush(stdout);
}
