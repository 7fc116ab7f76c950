// SPDX-License-Identifier: Apache-2.0
//
// Twelve threads wait in one function with arrays of numbers, of which four each have
// the same values, and the first thread crashes.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 12, KINDS = 3, COUNT = 20, LARGE = 80 };

static sem_t arrived;
static volatile long *volatile nowhere;

__attribute__((noinline)) static void wait_with(int kind)
{
    volatile int numbers[COUNT];
    volatile short grid[2][3];
    volatile long large[LARGE]; // more bytes than are looked for
    volatile char word[8];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 100 * kind + i;
    for (int i = 0; i < 6; i++)
        grid[i / 3][i % 3] = (short)(10 * kind + i);
    for (int i = 0; i < LARGE; i++)
        large[i] = 1000 * kind + i;
    snprintf((char *)word, sizeof(word), "kind %d", kind);
    sem_post(&arrived);
    for (;;)
        pause();
}

static void *run_thread(void *context)
{
    wait_with((int)(long)context);
    return context;
}

int main(void)
{
    pthread_t thread;
    sem_init(&arrived, 0, 0);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, run_thread, (void *)(i % KINDS)) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        sem_wait(&arrived);
    *nowhere = 1;
    return 0;
}
