// SPDX-License-Identifier: Apache-2.0
//
// Symbolicating an address that was symbolicated before, and what is kept for that.
#include "crashhook/backtrace.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

struct raw;

// name_of stores the name at a return address. False: it has none.
static bool name_of(uint64_t address, char name[256])
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_from_addresses(&address, 1, CRASHHOOK_FRAME_RETURN_ADDRESS,
                                           &backtrace) != 0)
        return false;
    int error = crashhook_backtrace_symbolicate(
        backtrace, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT, &named);
    crashhook_backtrace_destroy(backtrace);
    if (error != 0)
        return false;
    const struct crashhook_symbolicated_frame *frame =
        crashhook_symbolicated_backtrace_at(named, 0);
    bool found = frame != NULL && frame->symbol != NULL;
    snprintf(name, 256, "%s", found ? frame->symbol->name : "");
    crashhook_symbolicated_backtrace_destroy(named);
    return found;
}

static uint64_t inside(const void *function)
{
    return (uintptr_t)function + 2;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void a_known_address_costs_little(void **state)
{
    (void)state;
    char name[256];
    double least = 1e9;
    assert_true(name_of(inside((const void *)name_of), name));
    assert_string_equal(name, "name_of");
    for (int i = 0; i < 1000; i++) {
        double begin = now_us();
        bool found = name_of(inside((const void *)name_of), name);
        double spent = now_us() - begin;
        least = found && spent < least ? spent : least;
    }
    print_message("%.2f us\n", least);
    assert_string_equal(name, "name_of");
    // A tenth of that where nothing else runs and no sanitizer is used.
    assert_true(least < 20);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void no_descriptor_stays_open(void **state)
{
    (void)state;
    char name[256];
    size_t before = open_descriptors();
    crashhook_backtrace_cache_release();
    assert_true(name_of(inside((const void *)open_descriptors), name));
    assert_true(name_of(inside((const void *)printf), name));
    assert_int_equal(open_descriptors(), before);
}

static void what_is_kept_is_limited(void **state)
{
    (void)state;
    enum { LIMIT = 256 << 10, ADDRESSES = 4000 };
    char name[256];
    const uint64_t libc = (uintptr_t)qsort & ~UINT64_C(0xfff);
    crashhook_backtrace_cache_release();
    assert_int_equal(crashhook_backtrace_cache_size(), 0);
    crashhook_backtrace_cache_set_limit(LIMIT);
    size_t most = 0;
    for (uint64_t i = 1; i < ADDRESSES; i++) {
        (void)name_of(libc + i * 16, name);
        size_t size = crashhook_backtrace_cache_size();
        most = size > most ? size : most;
    }
    size_t full = crashhook_backtrace_cache_size();
    crashhook_backtrace_cache_set_limit(0);
    size_t none = crashhook_backtrace_cache_size();
    bool found = name_of(inside((const void *)name_of), name);
    crashhook_backtrace_cache_set_limit(16 << 20);
    assert_true(most <= LIMIT && full > LIMIT / 2);
    assert_int_equal(none, 0);
    assert_true(found);
}

// The name of the library's function that called back.
static char name_in_library[256];

static void name_caller(unsigned unused, struct raw *unused_too)
{
    uint64_t address = (uintptr_t)__builtin_return_address(0);
    (void)unused;
    (void)unused_too;
    (void)name_of(address, name_in_library);
}

static void call_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, "call_from_library") : NULL;
    void (*call)(void (*)(unsigned, struct raw *), struct raw *);
    memcpy(&call, &found, sizeof(found));
    assert_non_null(found);
    call(name_caller, NULL);
    dlclose(library);
}

static void names_of_a_library_are_not_those_of_the_next_at_its_place(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        call_library(SMALL_FRAMES);
        assert_string_equal(name_in_library, "call_inside_1024");
        call_library(LARGE_FRAMES);
        assert_string_equal(name_in_library, "call_inside_2048");
    }
}

static atomic_bool stop;
static atomic_int wrong;

static void *name_often(void *seed)
{
    static const void *const functions[] = { (const void *)name_of,
                                             (const void *)open_descriptors,
                                             (const void *)call_library };
    static const char *const names[] = { "name_of", "open_descriptors",
                                         "call_library" };
    char name[256];
    for (size_t i = (uintptr_t)seed; !atomic_load(&stop); i++)
        if (!name_of(inside(functions[i % 3]), name) || strcmp(name, names[i % 3]) != 0)
            atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void threads_name_while_the_rest_changes(void **state)
{
    (void)state;
    enum { THREADS = 6, ROUNDS = 60 };
    pthread_t threads[THREADS];
    atomic_store(&stop, false);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, name_often, (void *)i), 0);
    int failed_children = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char name[256];
        void *library = dlopen(i % 2 ? SMALL_FRAMES : LARGE_FRAMES, RTLD_NOW);
        if (i % 3 == 0)
            crashhook_backtrace_cache_release();
        // A sanitizer's allocator is not ready for a fork among other threads.
        pid_t child = CRASHHOOK_SANITIZED ? -1 : fork();
        if (child == 0) {
            alarm(20); // a lock that another thread held would never be released
            _exit(name_of(inside((const void *)name_of), name) &&
                          strcmp(name, "name_of") == 0
                      ? 0
                      : 1);
        }
        int status = 0;
        if (child > 0)
            waitpid(child, &status, 0);
        failed_children += status != 0;
        if (library != NULL)
            dlclose(library);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failed_children, 0);
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_address_costs_little),
        cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(what_is_kept_is_limited),
        cmocka_unit_test(names_of_a_library_are_not_those_of_the_next_at_its_place),
        cmocka_unit_test(threads_name_while_the_rest_changes),
    };
    return cmocka_run_group_tests_name("backtrace/names_again", tests, NULL, NULL);
}
