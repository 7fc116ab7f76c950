// SPDX-License-Identifier: Apache-2.0
// Crashes beside a second thread; with an argument, by an assertion. Compiled with
// musl-gcc by its test.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

__attribute__((noinline)) static void musl_writes_null(volatile int *where)
{
    *where = 1; // crashes here
}

__attribute__((noinline)) static void musl_asserts(int count)
{
    assert(count == 1);
    __asm__ volatile("");
}

static void *wait_here(void *argument)
{
    pause();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    pthread_create(&thread, NULL, wait_here, NULL);
    musl_asserts(argc);
    musl_writes_null(NULL);
    return 0;
}
