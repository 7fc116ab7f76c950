// SPDX-License-Identifier: Apache-2.0
//
// Crashes of threads and of their stacks.
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
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

enum { STACKS = 40 };

static stack_t stacks[STACKS];

// kernel_stack is the alternate stack that the kernel has; sigaltstack gives what the
// program has set.
static void kernel_stack(stack_t *out)
{
    syscall(SYS_sigaltstack, NULL, out);
}

static void *note_stack(void *number)
{
    kernel_stack(&stacks[(uintptr_t)number]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

// can_be_read returns true if the kernel can read the byte.
static bool can_be_read(const void *byte, const int ends[2])
{
    char taken;
    return write(ends[1], byte, 1) == 1 && read(ends[0], &taken, 1) == 1;
}

static int count_mappings(void)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        count++;
    if (file == NULL)
        _exit(96);
    fclose(file);
    return count;
}

// check_mappings checks that every page which is listed as readable and writable, in a
// mapping with a stack, can be read.
static void check_mappings(const int ends[2])
{
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *at;
        uintptr_t from = strtoul(line, &at, 16);
        uintptr_t end = strtoul(at + 1, &at, 16);
        bool holds = false;
        for (int i = 0; i < STACKS; i++)
            holds |= (uintptr_t)stacks[i].ss_sp - from < end - from;
        for (; holds && at[2] == 'w' && from < end; from += (size_t)getpagesize()) {
            if (!can_be_read((const void *)from, ends))
                _exit(92);
        }
    }
    if (file == NULL)
        _exit(96);
    fclose(file);
}

// check_stacks checks that the stacks overlap nowhere.
static void check_stacks(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        _exit(96);
    for (int i = 0; i < STACKS; i++) {
        const char *low = stacks[i].ss_sp;
        if ((stacks[i].ss_flags & SS_DISABLE) != 0 || !can_be_read(low, ends) ||
            !can_be_read(low + stacks[i].ss_size - 1, ends))
            _exit(95);
        for (int k = 0; k < STACKS; k++) {
            const char *other = stacks[k].ss_sp;
            if (k != i && other >= low && other < low + stacks[i].ss_size)
                _exit(94);
        }
    }
    check_mappings(ends);
}

// Forty threads map a stack and its guard each.
static void stacks_side_by_side(void)
{
    pthread_t threads[STACKS];
    int before = count_mappings();
    pthread_barrier_init(&barrier, NULL, STACKS + 1);
    for (uintptr_t i = 0; i < STACKS; i++)
        if (pthread_create(&threads[i], NULL, note_stack, (void *)i) != 0)
            _exit(97);
    pthread_barrier_wait(&barrier);
    check_stacks();
    if (count_mappings() - before > 2 * STACKS + STACKS / 2)
        _exit(93);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < STACKS; i++)
        pthread_join(threads[i], NULL);
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
    kernel_stack(&now);
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
    { "stacks-side-by-side", stacks_side_by_side },
    { "own-small-stack", own_small_stack },
    { "keeps-own-stack", keeps_own_stack },
    { "replaces-small-stack", replaces_small_stack },
    { NULL, NULL },
};
