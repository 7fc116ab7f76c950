// SPDX-License-Identifier: Apache-2.0
//
// flight_errno [MEMORY]: a program compiled with -finstrument-functions that calls
// functions in many threads, and prints how often errno changed meanwhile. MEMORY: in
// one thread, where no more memory can be mapped.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#define PLAIN __attribute__((no_instrument_function))

enum { THREADS = 200, STACK_BYTES = 1 << 16 };

static int changes;

__attribute__((noinline)) static void count_page(int page)
{
    __asm__ volatile("" ::"r"(page));
}

PLAIN static void *look_at_errno(void *unused)
{
    for (int i = 1; i < 4; i++) {
        errno = i;
        count_page(i);
        changes += errno != i;
    }
    return unused;
}

PLAIN int main(int count, char **words)
{
    const struct rlimit none = { 0, 0 };
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    int made = 0;
    (void)words;
    if (count > 1 && setrlimit(RLIMIT_AS, &none) != 0)
        return 2;
    (void)look_at_errno(NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (made < THREADS &&
           pthread_create(&threads[made], &attributes, look_at_errno, NULL) == 0)
        made++;
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    printf("%d changes\n", changes);
    return 0;
}
