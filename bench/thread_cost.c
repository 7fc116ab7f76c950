// SPDX-License-Identifier: Apache-2.0
//
// thread_cost COUNT: starts and joins COUNT threads, one after the other, and prints
// the median time of one in microseconds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *end_at_once(void *context)
{
    return context;
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    double *times = count > 0 ? calloc((size_t)count, sizeof(*times)) : NULL;
    if (times == NULL)
        return 2;
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        double began = now_us();
        if (pthread_create(&thread, NULL, end_at_once, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
        times[i] = now_us() - began;
    }
    qsort(times, (size_t)count, sizeof(*times), compare);
    printf("%.2f\n", times[count / 2]);
    free(times);
    return 0;
}
