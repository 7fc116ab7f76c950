// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <string.h>

#include "support/test.h"

static void crc32c_gives_the_values_of_its_rfc(void **state)
{
    (void)state;
    // RFC 3720, appendix B.4; the third counts up from 0.
    uint8_t zeros[32] = { 0 };
    uint8_t ones[32];
    uint8_t counting[32];
    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < sizeof(counting); i++)
        counting[i] = (uint8_t)i;
    assert_int_equal(crc32c(zeros, sizeof(zeros)), 0x8a9136aa);
    assert_int_equal(crc32c(ones, sizeof(ones)), 0x62a8ab43);
    assert_int_equal(crc32c(counting, sizeof(counting)), 0x46dd794e);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(zeros, 0), 0);
}

static void the_tables_of_crc32c_agree_with_the_instruction(void **state)
{
    (void)state;
    uint8_t bytes[67];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 151 + 7);
    for (size_t from = 0; from < 8; from++)
        for (size_t size = 0; from + size <= sizeof(bytes); size++)
            assert_int_equal(crc32c(bytes + from, size),
                             crc32c_without_instruction(bytes + from, size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_gives_the_values_of_its_rfc),
        cmocka_unit_test(the_tables_of_crc32c_agree_with_the_instruction),
    };
    return cmocka_run_group_tests_name("base/crc32c", tests, NULL, NULL);
}
