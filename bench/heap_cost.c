// SPDX-License-Identifier: Apache-2.0
//
// heap_cost PAIRS: the processor time of a malloc and free of 32 bytes, in nanoseconds,
// twenty calls deep.
#include <stdio.h>
#include <stdlib.h>

#include "bench_time.h"

enum { DEPTH = 20, BYTES = 32 };

static __attribute__((noinline)) void run_pairs(long pairs, int depth)
{
    if (depth > 0) {
        run_pairs(pairs, depth - 1);
        __asm__ volatile("");
        return;
    }
    for (long i = 0; i < pairs; i++) {
        void *volatile block = malloc(BYTES);
        free(block);
    }
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    double begin = bench_now_ns();
    run_pairs(pairs, DEPTH);
    (void)printf("%.2f\n", (bench_now_ns() - begin) / (double)pairs);
    return 0;
}
