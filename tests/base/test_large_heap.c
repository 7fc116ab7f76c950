// SPDX-License-Identifier: Apache-2.0
#include "base/large_heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_that_is_small_stays_as_it_is),
        cmocka_unit_test(what_is_allocated_before_and_after_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
