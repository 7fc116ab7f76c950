// SPDX-License-Identifier: Apache-2.0
//
// install_cost LIBRARY: prints how many microseconds loading the library took,
// constructors included, how many heap bytes it left in use, and how many threads and
// child processes exist then. With CRASHHOOK_ENABLE=no and yes in turn, the difference
// is the cost of installing the handler.
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; // for `.` and `..`

    while (tasks != NULL && readdir(tasks) != NULL)
        count++;
    return count;
}

static int count_children(void)
{
    char path[64];
    int pid;
    int count = 0;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "r");
    while (file != NULL && fscanf(file, "%d", &pid) == 1)
        count++;
    return count;
}

int main(int argc, char **argv)
{
    struct timespec before;
    struct timespec after;

    if (argc < 2)
        return 2;
    size_t used = mallinfo2().uordblks;
    clock_gettime(CLOCK_MONOTONIC, &before);
    void *library = dlopen(argv[1], RTLD_NOW);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (library == NULL)
        return 1;
    used = mallinfo2().uordblks - used;
    double us = (double)(after.tv_sec - before.tv_sec) * 1e6 +
                (double)(after.tv_nsec - before.tv_nsec) / 1e3;
    printf("%.2f %zu %d %d\n", us, used, count_threads(), count_children());
    return 0;
}
