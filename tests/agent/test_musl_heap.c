// SPDX-License-Identifier: Apache-2.0
//
// malloc, calloc, realloc and free are those of agent/musl/musl_heap.c here, under
// other names.
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { BLOCKS = 3000 };

static size_t size_of(size_t i)
{
    return i % 7 == 0 ? i * 97 : i * 3 % 611;
}

static bool is_filled(const unsigned char *bytes, size_t size, size_t seed)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)(seed + i))
            return false;
    return true;
}

static void fill(unsigned char *bytes, size_t size, size_t seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(seed + i);
}

static void blocks_of_all_sizes_are_aligned_and_do_not_overlap(void **state)
{
    static unsigned char *blocks[BLOCKS];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            if (round != 0 && i % 3 == 0)
                continue; // kept from the round before
            blocks[i] = malloc(size_of(i));
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            fill(blocks[i], size_of(i), i);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            assert_true(is_filled(blocks[i], size_of(i), i));
            if (round == 2 || i % 3 != 0)
                free(blocks[i]);
        }
    }
}

static void a_block_that_grows_keeps_its_bytes(void **state)
{
    (void)state;
    unsigned char *other = malloc(1);
    unsigned char *bytes = realloc(NULL, 1);
    fill(bytes, 1, 5);
    for (size_t size = 2; size <= (size_t)16 << 20; size *= 2) {
        bytes = realloc(bytes, size);
        assert_non_null(bytes);
        assert_true(is_filled(bytes, size / 2, 5));
        fill(bytes, size, 5);
    }
    free(bytes);
    free(other);
}

static void memory_that_was_used_before_is_cleared_by_calloc(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 40, 700, 60000, 300000 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *used = malloc(sizes[i]);
        memset(used, 255, sizes[i]);
        free(used);
        unsigned char *bytes = calloc(1, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(bytes[k], 0);
        free(bytes);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    volatile size_t most = SIZE_MAX;
    errno = 0;
    assert_null(malloc(most));
    assert_int_equal(errno, ENOMEM);
    assert_null(calloc(most / 2, 3));
    assert_null(malloc(most / 4));
    void *kept = malloc(10);
    assert_null(realloc(kept, most / 4));
    free(kept);
    free(NULL);
}

static void without_room_to_spare_blocks_are_as_large_as_asked_for(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        // 24 MB more than there is now: twice 8 MB fits, four times does not.
        struct rlimit limit;
        char *text = malloc(100000);
        FILE *file = fopen("/proc/self/statm", "r");
        unsigned long pages = 0;
        if (text == NULL || file == NULL || fscanf(file, "%lu", &pages) != 1)
            _exit(2);
        limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + (24 << 20);
        (void)setrlimit(RLIMIT_AS, &limit);
        void *block = malloc(8 << 20);
        text = realloc(text, 8 << 20);
        _exit(block != NULL && text != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_block_whose_beginning_was_overwritten_ends_the_process(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = { 0 };
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGILL, SIG_DFL); // cmocka's own handler goes on
        (void)signal(SIGTRAP, SIG_DFL);
        unsigned char *volatile block = malloc(16);
        block[-1] = (unsigned char)~block[-1]; // as a write past the block before
        free(block);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) &&
                (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_all_sizes_are_aligned_and_do_not_overlap),
        cmocka_unit_test(a_block_that_grows_keeps_its_bytes),
        cmocka_unit_test(memory_that_was_used_before_is_cleared_by_calloc),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(without_room_to_spare_blocks_are_as_large_as_asked_for),
        cmocka_unit_test(a_block_whose_beginning_was_overwritten_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
