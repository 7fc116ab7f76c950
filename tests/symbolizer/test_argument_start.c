// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_start.h"

#include <elf.h>
#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum { WORDS = 12, STACK = 0x7ffc0000, ENTRY = 0x401040 };

// Two arguments, one variable, AT_PAGESZ and AT_ENTRY.
static const uint64_t started[WORDS] = { 2,          0x7ffd0001, 0x7ffd0008, 0,
                                         0x7ffd0010, 0,          AT_PAGESZ,  4096,
                                         AT_ENTRY,   ENTRY,      AT_NULL,    0 };

// count_of has argument_start_count look at the first size bytes of words; -1: it gives
// no count.
static int count_of(const uint64_t words[static WORDS], size_t size, uint64_t stack)
{
    const struct fake_region region = { stack, words, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    uint64_t count;
    return argument_start_count(&reader, stack, ENTRY, &count) ? (int)count : -1;
}

static int count_with(size_t index, uint64_t word)
{
    uint64_t words[WORDS];
    memcpy(words, started, sizeof(words));
    words[index] = word;
    return count_of(words, sizeof(words), STACK);
}

static void argument_start_counts_the_arguments_of_a_new_process(void **state)
{
    (void)state;
    assert_int_equal(count_of(started, sizeof(started), STACK), 2);
}

static void argument_start_refuses_words_that_contradict_each_other(void **state)
{
    (void)state;
    assert_int_equal(count_with(0, 1), -1); // another count than is there
    assert_int_equal(count_with(0, UINT64_MAX), -1);
    assert_int_equal(count_with(2, 0), -1);         // fewer arguments than counted
    assert_int_equal(count_with(9, ENTRY + 1), -1); // another program's
    assert_int_equal(count_with(8, AT_PHDR), -1);   // no AT_ENTRY
    assert_int_equal(count_of(started, sizeof(started), STACK + 8), -1);
}

static void argument_start_refuses_a_stack_that_ends_anywhere_before(void **state)
{
    (void)state;
    size_t accepted = 0;
    for (size_t size = 0; size < 10 * sizeof(uint64_t); size++)
        accepted += count_of(started, size, STACK) >= 0;
    assert_int_equal(accepted, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argument_start_counts_the_arguments_of_a_new_process),
        cmocka_unit_test(argument_start_refuses_words_that_contradict_each_other),
        cmocka_unit_test(argument_start_refuses_a_stack_that_ends_anywhere_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
