// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/decompress.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "support/bytes.h"
#include "support/test.h"

enum { SIZE = 3000, PACKED_MAX = 2 * SIZE };

static uint8_t contents[SIZE];
static uint8_t packed[PACKED_MAX];
static uint8_t found[SIZE + 1];

// pack compresses the contents, of which a part repeats, and gives the size.
static size_t pack(uint32_t method)
{
    srand(1);
    for (size_t i = 0; i < SIZE; i++)
        contents[i] = i % 3 != 0 ? (uint8_t)(i % 64) : (uint8_t)rand();
    if (method == DECOMPRESS_ZSTD)
        return ZSTD_compress(packed, PACKED_MAX, contents, SIZE, 3);
    uLongf size = PACKED_MAX;
    assert_int_equal(compress(packed, &size, contents, SIZE), Z_OK);
    return size;
}

static const uint32_t methods[] = { DECOMPRESS_ZLIB, DECOMPRESS_ZSTD };

static void decompress_gives_what_was_compressed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cursor stream = cursor_over(packed, pack(methods[i]));
        memset(found, 0, SIZE);
        assert_int_equal(decompress(methods[i], stream, found, SIZE), CH_OK);
        assert_memory_equal(found, contents, SIZE);
    }
}

static void decompress_refuses_another_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cursor stream = cursor_over(packed, pack(methods[i]));
        assert_int_equal(decompress(methods[i], stream, found, SIZE - 1),
                         CH_ERR_MALFORMED);
        assert_int_equal(decompress(methods[i], stream, found, SIZE + 1),
                         CH_ERR_MALFORMED);
        assert_int_equal(decompress(methods[i], stream, found, 0), CH_ERR_MALFORMED);
    }
}

static void decompress_refuses_a_wrong_checksum(void **state)
{
    (void)state;
    size_t size = pack(DECOMPRESS_ZLIB);
    packed[size - 1] ^= 1;
    assert_int_equal(
        decompress(DECOMPRESS_ZLIB, cursor_over(packed, size), found, SIZE),
        CH_ERR_MALFORMED);
}

static void decompress_refuses_other_methods(void **state)
{
    (void)state;
    struct cursor stream = cursor_over(packed, pack(DECOMPRESS_ZLIB));
    assert_int_equal(decompress(0, stream, found, SIZE), CH_ERR_UNSUPPORTED);
    assert_int_equal(decompress(3, stream, found, SIZE), CH_ERR_UNSUPPORTED);
}

// Gives 1 for what is accepted.
static int drain(const uint8_t *bytes, size_t size, void *method)
{
    return decompress(*(const uint32_t *)method, cursor_over(bytes, size), found,
                      SIZE) == CH_OK;
}

static void decompress_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint32_t method = methods[i];
        size_t size = pack(method);
        assert_int_equal(drain(packed, size, &method), 1);
        assert_int_equal(bytes_cut_everywhere(packed, size, drain, &method), 0);
        (void)bytes_flip_every_bit(packed, size, drain, &method);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decompress_gives_what_was_compressed),
        cmocka_unit_test(decompress_refuses_another_size),
        cmocka_unit_test(decompress_refuses_a_wrong_checksum),
        cmocka_unit_test(decompress_refuses_other_methods),
        cmocka_unit_test(decompress_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/decompress", tests, NULL, NULL);
}
