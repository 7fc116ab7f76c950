// SPDX-License-Identifier: Apache-2.0
//
// Crashes of threads and of their stacks.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#include "handler/victim.h"

static void *run_in_thread(void *what)
{
    (*(void (**)(void))what)();
    return NULL;
}

static void in_thread(void (*what)(void), size_t stack)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack != 0)
        pthread_attr_setstacksize(&attributes, stack);
    if (pthread_create(&thread, &attributes, run_in_thread, &what) == 0)
        pthread_join(thread, NULL);
}

static void overflow_worker(void)
{
    in_thread(victim_overflow, 0);
}

static void overflow_tiny(void)
{
    in_thread(victim_overflow, 16384);
}

static int run_c11(void *argument)
{
    (void)argument;
    victim_overflow();
    return 0;
}

static void overflow_c11(void)
{
    thrd_t thread;
    if (thrd_create(&thread, run_c11, NULL) == thrd_success)
        thrd_join(thread, NULL);
}

static void raise_segv(void)
{
    raise(SIGSEGV);
}

static void raise_worker(void)
{
    in_thread(raise_segv, 0);
}

static void *sleep_for_ever(void *argument)
{
    (void)argument;
    for (;;)
        pause();
    return NULL;
}

static void crowd(void)
{
    for (int i = 0; i < 511; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
            _exit(97);
    }
    victim_null_write();
}

static pthread_barrier_t barrier;

static void *crash_together(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&barrier);
    victim_null_write();
    return NULL;
}

static void same_instant(void)
{
    pthread_barrier_init(&barrier, NULL, 17);
    for (int i = 0; i < 16; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, crash_together, NULL);
    }
    crash_together(NULL);
}

static void *come_and_go(void *argument)
{
    return argument;
}

static long mapped_pages(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1)
        _exit(96);
    fclose(file);
    return pages;
}

// Three thousand alternate stacks would be 190 MB if they stayed.
static void threads_come_and_go(void)
{
    long before = mapped_pages();
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, come_and_go, NULL) != 0)
            _exit(97);
        pthread_join(thread, NULL);
    }
    if (mapped_pages() - before > (100 << 20) / getpagesize())
        _exit(95);
    victim_null_write();
}

static void own_small_stack(void)
{
    stack_t own = { .ss_sp = malloc(8192), .ss_size = 8192 };
    sigaltstack(&own, NULL);
    victim_overflow();
}

static void tell_stack(void)
{
    stack_t now;
    char text[64];
    sigaltstack(NULL, &now);
    snprintf(text, sizeof(text), "%zu\n",
             (now.ss_flags & SS_DISABLE) != 0 ? 0 : now.ss_size);
    victim_say(text);
}

static void keeps_own_stack(void)
{
    stack_t own = { .ss_sp = malloc(100000), .ss_size = 100000 };
    sigaltstack(&own, NULL);
    victim_load_library();
    tell_stack();
}

static void replaces_small_stack(void)
{
    stack_t own = { .ss_sp = malloc(8192), .ss_size = 8192 };
    sigaltstack(&own, NULL);
    victim_load_library();
    tell_stack();
}

const struct victim_way victim_threads[] = {
    { "overflow-worker", overflow_worker },
    { "overflow-tiny", overflow_tiny },
    { "overflow-c11", overflow_c11 },
    { "raise-worker", raise_worker },
    { "crowd", crowd },
    { "same-instant", same_instant },
    { "threads-come-and-go", threads_come_and_go },
    { "own-small-stack", own_small_stack },
    { "keeps-own-stack", keeps_own_stack },
    { "replaces-small-stack", replaces_small_stack },
    { NULL, NULL },
};
