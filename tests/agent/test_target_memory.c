// SPDX-License-Identifier: Apache-2.0
//
// The cache of what was read of a process; the process is this one, which is not
// stopped: what changes shows what was read again.
#include "agent/live/target_memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

enum { APART_BYTES = 4 << 20, MANY = 3 * TARGET_CACHE_BLOCKS };

static uint64_t read_word(struct target_memory *memory, const uint64_t *at)
{
    struct memory_reader reader = target_memory_reader(memory);
    uint64_t word = 0;
    assert_int_equal(memory_read_word(&reader, (uintptr_t)at, &word), CH_OK);
    return word;
}

static uint64_t *map_words(size_t bytes)
{
    void *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(words != MAP_FAILED);
    return words;
}

static void blocks_a_power_of_two_apart_are_kept_together(void **state)
{
    enum { PLACES = 4 };
    struct target_memory memory;
    uint64_t *words = map_words((size_t)PLACES * APART_BYTES);
    uint64_t found[PLACES];
    (void)state;
    assert_int_equal(target_memory_init(&memory, getpid()), CH_OK);
    for (int turn = 1; turn <= 2; turn++) {
        for (size_t i = 0; i < PLACES; i++) {
            uint64_t *at = words + i * (APART_BYTES / sizeof(words[0]));
            *at = (uint64_t)turn;
            found[i] = read_word(&memory, at);
        }
    }
    target_memory_deinit(&memory);
    munmap(words, (size_t)PLACES * APART_BYTES);
    for (size_t i = 0; i < PLACES; i++)
        assert_int_equal(found[i], 1);
}

static void a_full_cache_still_reads_what_is_asked_for(void **state)
{
    enum { WORDS = TARGET_BLOCK_BYTES / sizeof(uint64_t) };
    struct target_memory memory;
    uint64_t *words = map_words((size_t)MANY * TARGET_BLOCK_BYTES);
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        words[i * WORDS] = i;
    assert_int_equal(target_memory_init(&memory, getpid()), CH_OK);
    for (size_t i = 0; i < MANY; i++)
        wrong += read_word(&memory, words + i * WORDS) != i;
    for (size_t i = MANY; i > 0; i--)
        wrong += read_word(&memory, words + (i - 1) * WORDS) != i - 1;
    size_t blocks = memory.block_count;
    target_memory_deinit(&memory);
    munmap(words, (size_t)MANY * TARGET_BLOCK_BYTES);
    assert_int_equal(wrong, 0);
    assert_true(blocks <= TARGET_CACHE_BLOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_a_power_of_two_apart_are_kept_together),
        cmocka_unit_test(a_full_cache_still_reads_what_is_asked_for),
    };
    return cmocka_run_group_tests_name("agent/target_memory", tests, NULL, NULL);
}
