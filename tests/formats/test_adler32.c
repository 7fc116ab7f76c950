// SPDX-License-Identifier: Apache-2.0
#include "formats/adler32.h"

#include <string.h>
#include <zlib.h>

#include "support/test.h"

enum { SIZE = 12000, OTHERS_SIZE = 300 }; // more than is added without a remainder

static uint8_t bytes[SIZE + 1];

static void expect_zlibs(uint32_t sum, const uint8_t *from, size_t size)
{
    assert_int_equal(adler32_add(sum, from, size), adler32(sum, from, (uInt)size));
}

static void adler32_is_that_of_zlib_for_every_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * i / 7 + i);
    for (size_t size = 0; size <= SIZE; size += size < OTHERS_SIZE ? 1 : 61) {
        expect_zlibs(1, bytes, size);
        expect_zlibs(1, bytes + 1, size);
    }
}

static void adler32_does_not_overflow(void **state)
{
    const uint32_t largest = ADLER32_BASE - 1;
    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    for (size_t size = SIZE / 3; size <= SIZE; size++)
        expect_zlibs(largest << 16 | largest, bytes, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adler32_is_that_of_zlib_for_every_size),
        cmocka_unit_test(adler32_does_not_overflow),
    };
    return cmocka_run_group_tests_name("formats/adler32", tests, NULL, NULL);
}
