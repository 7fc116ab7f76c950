// SPDX-License-Identifier: Apache-2.0
//
// A sampling profiler (docs/backtrace-profiler.md): a timer of processor time
// interrupts the program, the handler notes the number of the stack that it
// interrupted, and at the end each stack is printed with the number of its samples, as
// flame graph tools read them.
#include <crashhook/backtrace.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { SAMPLES = 1 << 16, FRAMES = 64, PERIOD_US = 1000, STORE_BYTES = 8 << 20 };

static struct crashhook_backtrace_store *stacks;
static uint32_t samples[SAMPLES]; // numbers of stacks
static atomic_size_t taken;

static void take_sample(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    uint64_t addresses[FRAMES];
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.context = context;
    size_t count = crashhook_backtrace_capture_raw(addresses, FRAMES, &options);
    // A return address is after its call; this one is where the program was.
    addresses[0] += count != 0;
    size_t at = atomic_fetch_add(&taken, 1);
    if (at < SAMPLES)
        samples[at] = crashhook_backtrace_store_add(stacks, addresses, count);
}

static int start_profile(void)
{
    const struct sigaction action = { .sa_sigaction = take_sample,
                                      .sa_flags = SA_SIGINFO | SA_RESTART };
    const struct itimerval period = { { 0, PERIOD_US }, { 0, PERIOD_US } };
    if (crashhook_backtrace_store_create(STORE_BYTES, &stacks) != 0 ||
        sigaction(SIGPROF, &action, NULL) != 0)
        return -1;
    return setitimer(ITIMER_PROF, &period, NULL);
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

// print_stack prints "main;outer;inner count".
static void print_stack(uint32_t number, size_t count)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_store_get(stacks, number, &backtrace) != 0 ||
        crashhook_backtrace_symbolicate(backtrace, NULL, CRASHHOOK_SHOW_INLINE_FRAMES,
                                        &named) != 0)
        exit(1);
    for (size_t i = crashhook_symbolicated_backtrace_count(named); i-- > 0;) {
        const struct crashhook_symbol *symbol =
            crashhook_symbolicated_backtrace_at(named, i)->symbol;
        printf("%s%c", symbol != NULL ? symbol->name : "?", i != 0 ? ';' : ' ');
    }
    printf("%zu\n", count);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
}

static void print_profile(void)
{
    size_t count = taken < SAMPLES ? taken : SAMPLES;
    setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
    qsort(samples, count, sizeof(samples[0]), by_number);
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && samples[end] == samples[begin])
            end++;
        print_stack(samples[begin], end - begin);
    }
}

// The program that is measured.
__attribute__((noinline)) static unsigned add_up(unsigned rounds)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum + i;
    return sum;
}

__attribute__((noinline)) static unsigned work_hard(void)
{
    return add_up(1 << 20) + 1;
}

int main(void)
{
    if (start_profile() != 0)
        return 1;
    while (taken < 100)
        (void)work_hard();
    print_profile();
    crashhook_backtrace_store_destroy(stacks);
    return 0;
}
