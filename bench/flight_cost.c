// SPDX-License-Identifier: Apache-2.0
//
// flight_cost: the cost of recording a function's entry and exit, by each way in this
// one program and one run, in nanoseconds of processor time, the best of several
// rounds: of a function that calls none, and of one that calls itself. flight.py
// compiles it with clang, with -finstrument-functions and -fxray-instrument.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "crashhook/flight.h"

#define PLAIN __attribute__((noinline, no_instrument_function, xray_never_instrument))
#define HOOKED __attribute__((noinline, xray_never_instrument))
#define SLEDDED                                                                        \
    __attribute__((noinline, no_instrument_function, xray_always_instrument))

enum { CALLS = 2000000, ROUNDS = 7, RING_BYTES = 64 * 1024, DEPTH = 20 };

// From xray/xray_interface.h and xray/xray_log_interface.h, whose types are C++'s.
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *options);
int __xray_log_finalize(void);
int __xray_patch(void);
int __xray_unpatch(void);

typedef int work_fn(int value);

PLAIN static int work_plain(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

HOOKED static int work_hooked(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

SLEDDED static int work_sledded(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

// DESCEND is the body of a function that calls itself and has work to do afterwards, so
// that it stays a recursion.
#define DESCEND(name)                                                                  \
    int below = depth > 1 ? name(depth - 1) : 0;                                       \
    __asm__ volatile("" : "+r"(below));                                                \
    return below + 1;

PLAIN static int descend_plain(int depth){ DESCEND(descend_plain) }

HOOKED static int descend_hooked(int depth){ DESCEND(descend_hooked) }

SLEDDED static int descend_sledded(int depth){ DESCEND(descend_sledded) }

PLAIN static int read_counter(int value)
{
    return value + (int)__builtin_readcyclecounter();
}

PLAIN static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

PLAIN static double measure(work_fn *work)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        for (int i = 0; i < CALLS; i++)
            (void)work(i);
        double each = (now_ns() - begin) / CALLS;
        best = each < best ? each : best;
    }
    return best;
}

PLAIN static double measure_deep(work_fn *descend)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        for (int i = 0; i < CALLS / DEPTH; i++)
            (void)descend(DEPTH);
        double each = (now_ns() - begin) / CALLS;
        best = each < best ? each : best;
    }
    return best;
}

PLAIN static void start_xrays_own(void)
{
    (void)__xray_log_select_mode("xray-fdr");
    (void)__xray_log_init_mode("xray-fdr",
                               "func_duration_threshold_us=0:no_file_flush=true");
    (void)__xray_patch();
}

PLAIN static void stop_xrays_own(void)
{
    (void)__xray_log_finalize();
    (void)__xray_unpatch();
}

PLAIN int main(void)
{
    double plain = measure(work_plain);
    double deep_plain = measure_deep(descend_plain);
    double counter = measure(read_counter) - plain;
    double idle = measure(work_hooked) - plain;
    double sleds = measure(work_sledded) - plain;
    start_xrays_own();
    double own = measure(work_sledded) - plain;
    double deep_own = measure_deep(descend_sledded) - deep_plain;
    stop_xrays_own();
    if (crashhook_flight_start(RING_BYTES) != 0)
        return 1;
    double ring = measure(work_hooked) - plain;
    double handler = measure(work_sledded) - plain;
    double deep_ring = measure_deep(descend_hooked) - deep_plain;
    double deep_handler = measure_deep(descend_sledded) - deep_plain;
    printf("counter %.2f plain %.2f idle %.2f sleds %.2f own %.2f ring %.2f handler "
           "%.2f deep_own %.2f deep_ring %.2f deep_handler %.2f\n",
           counter, plain, idle, sleds, own, ring, handler, deep_own, deep_ring,
           deep_handler);
    return 0;
}
