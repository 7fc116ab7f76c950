// SPDX-License-Identifier: Apache-2.0

#include "base/cursor.h"
#include "base/text.h"
#include "support/test.h"

static void numbers_have_their_size_and_are_little_endian(void **state)
{
    (void)state;
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    PACK(&out, "12z48", 0x1ff, 0x1020304, 3, 0xa0b0c0d0, UINT64_MAX);
    static const uint8_t wanted[] = { 0xff, 4,    3,    0,    0,    0,
                                      0xd0, 0xc0, 0xb0, 0xa0, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    assert_int_equal(out.size, sizeof(wanted));
    assert_memory_equal(out.bytes, wanted, sizeof(wanted));
    assert_int_equal(pack_align(&out, 4), 20);
    assert_int_equal(pack_align(&out, 1000), 1000);
    assert_int_equal(out.bytes[999], 0);
}

static void leb128_is_read_back(void **state)
{
    (void)state;
    static const int64_t numbers[] = { 0,   1,   63,        64,        -1,       -64,
                                       -65, 127, INT64_MAX, INT64_MIN, INT32_MIN };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct text CH_CLEANUP(text_deinit) out = { 0 };
        PACK(&out, "us", (uint64_t)numbers[i], (uint64_t)numbers[i]);
        struct cursor c = cursor_over(out.bytes, out.size);
        assert_int_equal(cursor_uleb128(&c), numbers[i]);
        assert_int_equal(cursor_sleb128(&c), numbers[i]);
        assert_true(cursor_ok(&c));
        assert_int_equal(cursor_left(&c), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_their_size_and_are_little_endian),
        cmocka_unit_test(leb128_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
