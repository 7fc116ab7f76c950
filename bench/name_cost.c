// SPDX-License-Identifier: Apache-2.0
//
// name_cost PID OPTIONS: names of addresses of process PID, one by one in the order in
// which standard input has them, and then all of them again. It prints microseconds:
// for the first one, the median of the others, the greatest, and the median of those
// again; then KB of memory that is not of files, and the number of names.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "crashhook/backtrace.h"

enum { ADDRESSES_MAX = 100000 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static long memory_kb(void)
{
    long pages[3] = { 0 };
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL ||
        fscanf(file, "%ld %ld %ld", &pages[0], &pages[1], &pages[2]) != 3)
        exit(1);
    fclose(file);
    return (pages[1] - pages[2]) * (sysconf(_SC_PAGESIZE) / 1024);
}

// name_address gives the microseconds that the name of an address took.
static double name_address(uint64_t address, struct crashhook_images *images,
                           unsigned options, bool *out_found)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    const double begin = now_us();
    if (crashhook_backtrace_from_addresses(&address, 1, CRASHHOOK_FRAME_PROGRAM_COUNTER,
                                           &backtrace) != 0 ||
        crashhook_backtrace_symbolicate(backtrace, images, options, &named) != 0)
        exit(1);
    const double spent = now_us() - begin;
    const struct crashhook_symbolicated_frame *frame =
        crashhook_symbolicated_backtrace_at(named, 0);
    *out_found = frame != NULL && frame->symbol != NULL &&
                 strcmp(frame->symbol->name, "<unknown>") != 0;
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
    return spent;
}

int main(int argc, char **argv)
{
    static uint64_t addresses[ADDRESSES_MAX];
    static double spent[2][ADDRESSES_MAX];
    struct crashhook_backtrace *of_process;
    size_t count = 0;
    size_t named = 0;
    if (argc != 3 || crashhook_backtrace_capture_process(
                         (pid_t)strtol(argv[1], NULL, 10), 0, NULL, &of_process) != 0)
        return 1;
    struct crashhook_images *images = crashhook_backtrace_images(of_process);
    while (count < ADDRESSES_MAX && scanf("%" SCNx64, &addresses[count]) == 1)
        count++;
    if (count < 2)
        return 1;
    const unsigned options = (unsigned)strtoul(argv[2], NULL, 10);
    const long before_kb = memory_kb();
    for (size_t again = 0; again < 2; again++) {
        for (size_t i = 0; i < count; i++) {
            bool found;
            spent[again][i] = name_address(addresses[i], images, options, &found);
            named += found && again == 0;
        }
    }
    const long kb = memory_kb() - before_kb;
    qsort(spent[0] + 1, count - 1, sizeof(spent[0][0]), by_value);
    qsort(spent[1], count, sizeof(spent[1][0]), by_value);
    printf("%.1f %.2f %.1f %.2f %ld %zu\n", spent[0][0], spent[0][count / 2],
           spent[0][count - 1], spent[1][count / 2], kb, named);
    crashhook_backtrace_destroy(of_process);
    return 0;
}
