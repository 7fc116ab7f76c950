// SPDX-License-Identifier: Apache-2.0

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/program_start.h"
#include "support/test.h"

enum { PIECES = 20000, EXPECTED = 8 << 20 };

static void a_heap_that_is_small_stays_as_it_is(void **state)
{
    (void)state;
    const void *before = sbrk(0);
    large_heap_expect(100000);
    assert_ptr_equal(sbrk(0), before);
}

// fill_pieces allocates pieces of growing sizes, each filled with its number.
static bool fill_pieces(unsigned char *pieces[static PIECES])
{
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = malloc(i % 1000 + 1);
        if (pieces[i] == NULL)
            return false;
        memset(pieces[i], (int)(i % 251), i % 1000 + 1);
    }
    return true;
}

static bool pieces_are_whole(unsigned char *const pieces[static PIECES])
{
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i % 1000 + 1; k++)
            if (pieces[i][k] != i % 251)
                return false;
    return true;
}

static void what_is_allocated_before_and_after_is_whole(void **state)
{
    (void)state;
    static unsigned char *before[PIECES];
    static unsigned char *after[PIECES];
    bool filled = fill_pieces(before);
    for (size_t i = 0; i < PIECES; i += 2) {
        free(before[i]);
        before[i] = NULL;
    }
    large_heap_expect(EXPECTED);
    for (size_t i = 0; i < PIECES; i += 2) {
        before[i] = malloc(i % 1000 + 1);
        memset(before[i], (int)(i % 251), i % 1000 + 1);
    }
    filled = filled && fill_pieces(after);
    bool whole = filled && pieces_are_whole(before) && pieces_are_whole(after);
    for (size_t i = 0; i < PIECES; i++) {
        free(before[i]);
        free(after[i]);
    }
    assert_true(whole);
}

static void a_heap_that_was_prepared_stays_large(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        const char *before = sbrk(0);
        large_heap_expect(EXPECTED);
        const char *prepared = sbrk(0);
        for (int i = 0; i < 4; i++) {
            void *volatile block = malloc(EXPECTED / 2);
            free(block);
        }
        bool stays = sbrk(0) == prepared && prepared - before >= EXPECTED;
        _exit(stays || CRASHHOOK_SANITIZED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void under_a_limit_as_much_is_allocated_as_fits(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = { 0 };
        unsigned long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        if (file == NULL || fscanf(file, "%lu", &pages) != 1)
            _exit(2);
        limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + (32 << 20);
        if (!CRASHHOOK_SANITIZED && setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(2);
        large_heap_expect((size_t)200 << 20);
        bool filled = true;
        for (int i = 0; i < 20000 && filled; i++)
            filled = malloc(1000) != NULL;
        _exit(filled ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_that_was_prepared_stays_large),
        cmocka_unit_test(a_heap_that_is_small_stays_as_it_is),
        cmocka_unit_test(what_is_allocated_before_and_after_is_whole),
        cmocka_unit_test(under_a_limit_as_much_is_allocated_as_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
