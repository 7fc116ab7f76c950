// SPDX-License-Identifier: Apache-2.0
//
// install_cost LIBRARY: prints how many microseconds loading the library took, its
// constructors included. With CRASHHOOK_ENABLE=no and yes in turn, the difference is
// what installing the handler costs.
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec before;
    struct timespec after;

    if (argc < 2)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &before);
    void *library = dlopen(argv[1], RTLD_NOW);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (library == NULL)
        return 1;
    printf("%.2f\n", (double)(after.tv_sec - before.tv_sec) * 1e6 +
                         (double)(after.tv_nsec - before.tv_nsec) / 1e3);
    return 0;
}
