// SPDX-License-Identifier: Apache-2.0
//
// stack_target THREADS DEPTH: THREADS wait, each DEPTH calls deep, and so does the main
// thread, which writes a byte once all have arrived. DEPTH -N: the calls go through
// eight functions in turn instead of one recursive function.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static sem_t arrived;
static volatile int finished; // never set

static void wait_for_ever(void)
{
    while (!finished)
        pause();
}

__attribute__((noinline)) static long descend(long depth)
{
    if (depth <= 1) {
        sem_post(&arrived);
        wait_for_ever();
        return 0;
    }
    return descend(depth - 1) + 1;
}

typedef long call_fn(long depth);
static call_fn *volatile next[8];

// FUNCTION defines functions with different frame sizes and saved registers.
#define FUNCTION(name, index, words)                                                   \
    __attribute__((noinline)) static long name(long depth)                             \
    {                                                                                  \
        volatile long kept[words];                                                     \
        kept[0] = depth;                                                               \
        long below = next[((index) + 1) % 8](depth - 1);                               \
        return below * kept[0] + depth + (long)next[depth & 7];                        \
    }
FUNCTION(one, 0, 1)
FUNCTION(two, 1, 3)
FUNCTION(three, 2, 9)
FUNCTION(four, 3, 2)
FUNCTION(five, 4, 17)
FUNCTION(six, 5, 5)
FUNCTION(seven, 6, 40)

static long eight(long depth)
{
    return depth <= 0 ? descend(1) : one(depth) + 1;
}

static void *run_thread(void *argument)
{
    long depth = *(long *)argument;
    return (void *)(depth < 0 ? eight(-depth - 2) : descend(depth));
}

int main(int argc, char **argv)
{
    static call_fn *const functions[] = {
        one, two, three, four, five, six, seven, eight
    };
    static long depth;
    if (argc != 3)
        return 2;
    long count = strtol(argv[1], NULL, 10);
    depth = strtol(argv[2], NULL, 10);
    for (int i = 0; i < 8; i++)
        next[i] = functions[i];

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    sem_init(&arrived, 0, 0);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run_thread, &depth) != 0)
            return 1;
    }
    for (long i = 0; i < count; i++)
        sem_wait(&arrived);
    if (write(STDOUT_FILENO, "x", 1) != 1)
        return 1;
    run_thread(&depth);
}
