// SPDX-License-Identifier: Apache-2.0
//
// The library is loaded while the program runs, as plug-ins and interpreters load it:
// by a thread, with the main thread and another one started before.
//
//     test_backtrace_loaded LIBRARY
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "crashhook/backtrace.h"

static const char *path;
static __typeof__(&crashhook_backtrace_capture_raw) capture_raw;
static __typeof__(&crashhook_backtrace_capture) capture;
static __typeof__(&crashhook_backtrace_destroy) destroy;
static pthread_barrier_t loaded;

static void find(void *library, const char *name, void *out)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    memcpy(out, &found, sizeof(found));
}

static void *load(void *failed)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *(int *)failed = library == NULL;
    if (library == NULL)
        printf("%s\n", dlerror());
    find(library, "crashhook_backtrace_capture_raw", &capture_raw);
    find(library, "crashhook_backtrace_capture", &capture);
    find(library, "crashhook_backtrace_destroy", &destroy);
    return NULL;
}

// count_failed captures in both ways.
static int count_failed(void)
{
    uint64_t addresses[64];
    struct crashhook_backtrace *backtrace;
    enum crashhook_raw_end end = CRASHHOOK_RAW_INVALID;
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &end;
    const size_t count = capture_raw(addresses, 64, &options);
    int failed = count < 2 || end != CRASHHOOK_RAW_COMPLETE;
    if (capture(NULL, &backtrace) != 0)
        return failed + 1;
    destroy(backtrace);
    return failed;
}

static void *capture_later(void *failed)
{
    (void)pthread_barrier_wait(&loaded);
    *(int *)failed = capture != NULL ? count_failed() : 1;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int failed[2] = { 1, 1 };
    path = argc > 1 ? argv[1] : "";
    if (pthread_barrier_init(&loaded, NULL, 2) != 0 ||
        pthread_create(&threads[0], NULL, capture_later, &failed[0]) != 0 ||
        pthread_create(&threads[1], NULL, load, &failed[1]) != 0)
        return 2;
    pthread_join(threads[1], NULL);
    (void)pthread_barrier_wait(&loaded);
    pthread_join(threads[0], NULL);
    return failed[0] + failed[1] + (capture != NULL ? count_failed() : 1);
}
