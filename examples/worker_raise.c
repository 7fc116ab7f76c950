// SPDX-License-Identifier: Apache-2.0
//
// worker_raise: a watchdog thread finds that the main thread makes no progress, and
// ends the program by raising a signal.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_long progress;

__attribute__((noinline)) static void give_up(void)
{
    raise(SIGSEGV); // crashes here
}

static void *watch_progress(void *argument)
{
    long before = -1;

    (void)argument;
    while (atomic_load(&progress) != before) {
        before = atomic_load(&progress);
        usleep(10000);
    }
    give_up();
    return NULL;
}

int main(void)
{
    pthread_t watchdog;

    if (pthread_create(&watchdog, NULL, watch_progress, NULL) != 0) {
        perror("cannot start the watchdog");
        return 1;
    }
    for (;;)
        pause();
}
