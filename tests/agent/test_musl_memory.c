// SPDX-License-Identifier: Apache-2.0
//
// memcpy and memmove are those of agent/musl/musl_memory.c here, under other names.
#include <stdbool.h>
#include <string.h>

#include "support/test.h"

// Past the size from which one string instruction copies.
enum { AROUND = 32, LARGEST = 1100, ROOM = LARGEST + 2 * AROUND };

static void fill(uint8_t *bytes, unsigned seed)
{
    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (uint8_t)(i * 7 + seed + (i >> 8));
}

// same_as_by_bytes: bytes hold what copying size of old one by one would have made.
static bool same_as_by_bytes(const uint8_t *bytes, const uint8_t *old, size_t to,
                             size_t from, size_t size)
{
    for (size_t i = 0; i < ROOM; i++) {
        bool copied = i >= to && i < to + size;
        if (bytes[i] != (copied ? old[i - to + from] : old[i]))
            return false;
    }
    return true;
}

static void every_size_is_copied_whole_and_nothing_beside_it(void **state)
{
    static uint8_t source[ROOM], target[ROOM], old[ROOM];
    (void)state;
    fill(source, 3);
    for (size_t size = 0; size <= LARGEST; size++) {
        for (size_t shift = 0; shift < 3; shift++) {
            fill(target, 90);
            fill(old, 90);
            void *to = target + AROUND + shift;
            assert_ptr_equal(memcpy(to, source + AROUND, size), to);
            for (size_t i = 0; i < size; i++)
                old[AROUND + shift + i] = source[AROUND + i];
            assert_memory_equal(target, old, ROOM);
        }
    }
}

static void parts_that_overlap_are_moved_whole(void **state)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 15, 16, 17, 33, 100, LARGEST };
    static uint8_t bytes[ROOM], old[ROOM];
    (void)state;
    fill(old, 5);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t from = 0; from < 2 * AROUND; from++) {
            fill(bytes, 5);
            void *to = bytes + AROUND;
            assert_ptr_equal(memmove(to, bytes + from, sizes[i]), to);
            assert_true(same_as_by_bytes(bytes, old, AROUND, from, sizes[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_copied_whole_and_nothing_beside_it),
        cmocka_unit_test(parts_that_overlap_are_moved_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
