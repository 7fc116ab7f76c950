// SPDX-License-Identifier: Apache-2.0
//
// last_keys WHAT: a thread crashes in the last round of destructors of thread keys.
#include <limits.h>
#include <pthread.h>
#include <string.h>

static const char *what = "";
static pthread_key_t key;
static int rounds;

static int fill_stack(int depth) // NOLINT(misc-no-recursion): it is to overflow
{
    volatile char page[4096];
    page[0] = (char)depth;
    return fill_stack(depth + 1) + page[0];
}

static void destroy_value(void *value)
{
    pthread_setspecific(key, value);
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        return;
    if (strcmp(what, "overflow") == 0)
        (void)fill_stack(0);
    *(volatile int *)8 = 1;
}

static void *set_value(void *value)
{
    pthread_setspecific(key, value);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    what = count > 1 ? words[1] : "";
    pthread_key_create(&key, destroy_value);
    if (strcmp(what, "first-thread") == 0) {
        set_value(words);
        pthread_exit(NULL);
    }
    pthread_create(&thread, NULL, set_value, words);
    pthread_join(thread, NULL);
    return 0;
}
