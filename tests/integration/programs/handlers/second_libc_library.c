// SPDX-License-Identifier: Apache-2.0
//
// What second_libc loads. Its threads are not created by the program's C library.
#include <pthread.h>
#include <stddef.h>

int read_number(const int *at);
int read_number_in_thread(const int *at);
int overflow_in_thread(const int *unused);

int read_number(const int *at)
{
    return *(const volatile int *)at + 1;
}

static void *run_read(void *at)
{
    return (void *)(long)read_number(at);
}

static int fill_stack(int depth) // NOLINT(misc-no-recursion): it is to overflow
{
    volatile char page[4096];
    page[0] = (char)depth;
    return fill_stack(depth + 1) + page[0];
}

static void *run_fill(void *unused)
{
    (void)unused;
    return (void *)(long)fill_stack(0);
}

static int run_thread(void *(*run)(void *))
{
    pthread_t thread;
    return pthread_create(&thread, NULL, run, NULL) == 0 ? pthread_join(thread, NULL)
                                                         : 3;
}

int read_number_in_thread(const int *at)
{
    (void)at;
    return run_thread(run_read);
}

int overflow_in_thread(const int *unused)
{
    (void)unused;
    return run_thread(run_fill);
}
