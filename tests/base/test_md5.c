// SPDX-License-Identifier: Apache-2.0
#include "base/md5.h"

#include <string.h>

#include "base/hex.h"
#include "support/test.h"

// The test suite of RFC 1321, section A.5.
static const char *const vectors[][2] = {
    { "", "d41d8cd98f00b204e9800998ecf8427e" },
    { "a", "0cc175b9c0f1b6a831c399e269772661" },
    { "abc", "900150983cd24fb0d6963f7d28e17f72" },
    { "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
    { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
      "d174ab98d277d9f5a5611c2c9f419d9f" },
    { "1234567890123456789012345678901234567890123456789012345678901234567890123456789"
      "0",
      "57edf4a22be3c955ac49da2e2107b67a" },
};

static void md5_gives_the_sums_of_its_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct md5 md5;
        uint8_t sum[MD5_SIZE];
        char hex[2 * MD5_SIZE + 1];
        md5_init(&md5);
        md5_add(&md5, vectors[i][0], strlen(vectors[i][0]));
        md5_finish(&md5, sum);
        hex_encode(sum, sizeof(sum), hex);
        assert_string_equal(hex, vectors[i][1]);
    }
}

static void md5_is_the_same_however_the_bytes_are_added(void **state)
{
    (void)state;
    uint8_t bytes[300];
    uint8_t whole[MD5_SIZE];
    struct md5 md5;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    md5_init(&md5);
    md5_add(&md5, bytes, sizeof(bytes));
    md5_finish(&md5, whole);
    for (size_t part = 1; part < 130; part += 3) {
        uint8_t sum[MD5_SIZE];
        md5_init(&md5);
        for (size_t at = 0; at < sizeof(bytes); at += part)
            md5_add(&md5, bytes + at,
                    sizeof(bytes) - at < part ? sizeof(bytes) - at : part);
        md5_finish(&md5, sum);
        assert_memory_equal(sum, whole, MD5_SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(md5_gives_the_sums_of_its_specification),
        cmocka_unit_test(md5_is_the_same_however_the_bytes_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
