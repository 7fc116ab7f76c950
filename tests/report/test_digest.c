// SPDX-License-Identifier: Apache-2.0
#include "report/file/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "support/test.h"

// The examples of FIPS 180-4 and of NIST's page of example values.
static const char *const vectors[][2] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
      "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

static void sha256_gives_the_sums_of_its_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char hex[SHA256_HEX_SIZE];
        sha256_hex(vectors[i][0], strlen(vectors[i][0]), hex);
        assert_string_equal(hex, vectors[i][1]);
    }
}

static void sha256_is_the_same_however_the_bytes_are_added(void **state)
{
    (void)state;
    uint8_t bytes[300];
    char whole[SHA256_HEX_SIZE];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    sha256_hex(bytes, sizeof(bytes), whole);
    for (size_t part = 1; part < 130; part += 3) {
        char hex[SHA256_HEX_SIZE];
        struct sha256_ctx sha;
        sha256_init(&sha);
        for (size_t at = 0; at < sizeof(bytes); at += part)
            sha256_update(&sha, sizeof(bytes) - at < part ? sizeof(bytes) - at : part,
                          bytes + at);
        sha256_finish_hex(&sha, hex);
        assert_string_equal(hex, whole);
    }
}

// RFC 4231, test cases 2 and 6: a short key, and one longer than a block.
static void sha256_signs_as_its_specification_says(void **state)
{
    (void)state;
    static const char data[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    char long_key[132];
    char hex[SHA256_HEX_SIZE];
    uint8_t sum[SHA256_SIZE];
    sha256_hmac("Jefe", "what do ya want for nothing?", 28, sum);
    hex_encode(sum, sizeof(sum), hex);
    assert_string_equal(
        hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(long_key, 0xaa, 131);
    long_key[131] = 0;
    sha256_hmac(long_key, data, strlen(data), sum);
    hex_encode(sum, sizeof(sum), hex);
    assert_string_equal(
        hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_sums_of_its_specification),
        cmocka_unit_test(sha256_is_the_same_however_the_bytes_are_added),
        cmocka_unit_test(sha256_signs_as_its_specification_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
