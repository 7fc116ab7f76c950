// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include "support/test.h"

static void hex_round_trips(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x00, 0x1f, 0xa0, 0xff };
    char digits[9];
    uint8_t back[4];
    size_t size;

    hex_encode(bytes, sizeof(bytes), digits);
    assert_string_equal(digits, "001fa0ff");
    assert_int_equal(hex_decode("001FA0fF", 8, back, sizeof(back), &size), CH_OK);
    assert_int_equal(size, 4);
    assert_memory_equal(back, bytes, 4);
}

static void hex_refuses_what_is_not_hex(void **state)
{
    (void)state;
    uint8_t out[2];
    size_t size;
    assert_int_equal(hex_decode("abc", 3, out, sizeof(out), &size), CH_ERR_MALFORMED);
    assert_int_equal(hex_decode("ag", 2, out, sizeof(out), &size), CH_ERR_MALFORMED);
    assert_int_equal(hex_decode("aabbcc", 6, out, sizeof(out), &size), CH_ERR_LIMIT);
}

static void base64_round_trips_every_remainder(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "", "" },        { "f", "Zg==" },        { "fo", "Zm8=" },
        { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[BASE64_SIZE(4)];
        char back[4];
        size_t size = 99;
        size_t length = strlen(pairs[i][0]);
        base64_encode(pairs[i][0], length, text);
        assert_string_equal(text, pairs[i][1]);
        assert_int_equal(base64_decode(text, strlen(text), back, sizeof(back), &size),
                         CH_OK);
        assert_int_equal(size, length);
        assert_memory_equal(back, pairs[i][0], length);
    }
}

static void base64_reads_both_alphabets_with_and_without_padding(void **state)
{
    (void)state;
    uint8_t out[4];
    size_t size;
    assert_int_equal(base64_decode("-_8", 3, out, sizeof(out), &size), CH_OK);
    assert_int_equal(size, 2);
    assert_int_equal(out[0], 0xfb);
    assert_int_equal(out[1], 0xff);
    assert_int_equal(base64_decode("+/8=", 4, out, sizeof(out), &size), CH_OK);
    assert_int_equal(out[0], 0xfb);
}

static void base64_refuses_what_is_not_base64(void **state)
{
    (void)state;
    uint8_t out[2];
    size_t size;
    assert_int_equal(base64_decode("A", 1, out, sizeof(out), &size), CH_ERR_MALFORMED);
    assert_int_equal(base64_decode("A*==", 4, out, sizeof(out), &size),
                     CH_ERR_MALFORMED);
    assert_int_equal(base64_decode("AAAA", 4, out, sizeof(out), &size), CH_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hex_round_trips),
        cmocka_unit_test(hex_refuses_what_is_not_hex),
        cmocka_unit_test(base64_round_trips_every_remainder),
        cmocka_unit_test(base64_reads_both_alphabets_with_and_without_padding),
        cmocka_unit_test(base64_refuses_what_is_not_base64),
    };
    return cmocka_run_group_tests_name("base/hex", tests, NULL, NULL);
}
