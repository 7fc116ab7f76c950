// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/decode.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "support/bytes.h"
#include "support/test.h"

enum { PLAIN_SIZE = 300000 };

// encoded is a compressed run of PLAIN_SIZE equal bytes.
struct encoded {
    unsigned char bytes[4096];
    size_t size;
};

static struct encoded gzip_of_zeros(void)
{
    struct encoded out = { 0 };
    unsigned char *plain = calloc(1, PLAIN_SIZE);
    z_stream stream = { .next_in = plain,
                        .avail_in = PLAIN_SIZE,
                        .next_out = out.bytes,
                        .avail_out = sizeof(out.bytes) };
    if (plain == NULL || deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, 0) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    out.size = stream.total_out;
    deflateEnd(&stream);
    free(plain);
    return out;
}

static struct encoded zstd_of_zeros(void)
{
    struct encoded out = { 0 };
    unsigned char *plain = calloc(1, PLAIN_SIZE);
    if (plain == NULL)
        abort();
    out.size = ZSTD_compress(out.bytes, sizeof(out.bytes), plain, PLAIN_SIZE, 3);
    free(plain);
    return out;
}

// decoded_size decodes and forgets: the size, or the status with its sign changed.
static long decoded_size(enum decode_encoding encoding, const struct encoded *in,
                         size_t limit)
{
    struct text out = { 0 };
    enum ch_status status = decode_body(encoding, in->bytes, in->size, limit, &out);
    long size = (long)out.size;
    text_deinit(&out);
    return status == CH_OK ? size : -(long)status;
}

static void decode_gives_back_what_was_compressed(void **state)
{
    (void)state;
    struct encoded gzip = gzip_of_zeros();
    struct encoded zstd = zstd_of_zeros();
    assert_int_equal(decoded_size(DECODE_GZIP, &gzip, PLAIN_SIZE), PLAIN_SIZE);
    assert_int_equal(decoded_size(DECODE_ZSTD, &zstd, PLAIN_SIZE), PLAIN_SIZE);
    assert_int_equal(decoded_size(DECODE_IDENTITY, &zstd, PLAIN_SIZE), zstd.size);
}

static void decode_reads_gzip_members_that_follow_one_another(void **state)
{
    (void)state;
    struct encoded one = gzip_of_zeros();
    struct encoded two = one;
    memcpy(two.bytes + one.size, one.bytes, one.size);
    two.size *= 2;
    assert_int_equal(decoded_size(DECODE_GZIP, &two, 2 * PLAIN_SIZE), 2 * PLAIN_SIZE);
}

static void decode_stops_a_bomb_at_the_limit(void **state)
{
    (void)state;
    struct encoded gzip = gzip_of_zeros();
    struct encoded zstd = zstd_of_zeros();
    assert_int_equal(decoded_size(DECODE_GZIP, &gzip, PLAIN_SIZE - 1), -CH_ERR_LIMIT);
    assert_int_equal(decoded_size(DECODE_ZSTD, &zstd, PLAIN_SIZE - 1), -CH_ERR_LIMIT);
    assert_int_equal(decoded_size(DECODE_IDENTITY, &zstd, 3), -CH_ERR_LIMIT);
}

static int visit_gzip_prefix(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct text out = { 0 };
    enum ch_status status = decode_body(DECODE_GZIP, bytes, size, PLAIN_SIZE, &out);
    text_deinit(&out);
    return status != CH_ERR_TRUNCATED;
}

static int visit_zstd_prefix(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct text out = { 0 };
    enum ch_status status = decode_body(DECODE_ZSTD, bytes, size, PLAIN_SIZE, &out);
    text_deinit(&out);
    return status != CH_ERR_TRUNCATED;
}

static void decode_says_when_the_data_ends_early(void **state)
{
    (void)state;
    struct encoded gzip = gzip_of_zeros();
    struct encoded zstd = zstd_of_zeros();
    assert_int_equal(
        bytes_cut_everywhere(gzip.bytes, gzip.size, visit_gzip_prefix, NULL), 0);
    assert_int_equal(
        bytes_cut_everywhere(zstd.bytes, zstd.size, visit_zstd_prefix, NULL), 0);
}

static int visit_damaged(const uint8_t *bytes, size_t size, void *context)
{
    struct text out = { 0 };
    enum ch_status status =
        decode_body(*(enum decode_encoding *)context, bytes, size, PLAIN_SIZE, &out);
    bool bounded = out.size <= PLAIN_SIZE;
    text_deinit(&out);
    return !bounded || status == CH_ERR_IO;
}

static void decode_survives_every_flipped_bit(void **state)
{
    (void)state;
    struct encoded gzip = gzip_of_zeros();
    struct encoded zstd = zstd_of_zeros();
    enum decode_encoding encoding = DECODE_GZIP;
    assert_int_equal(
        bytes_flip_every_bit(gzip.bytes, gzip.size, visit_damaged, &encoding), 0);
    encoding = DECODE_ZSTD;
    assert_int_equal(
        bytes_flip_every_bit(zstd.bytes, zstd.size, visit_damaged, &encoding), 0);
}

static void decode_knows_three_encodings(void **state)
{
    (void)state;
    enum decode_encoding encoding = DECODE_IDENTITY;
    assert_int_equal(decode_encoding_named("GZIP", &encoding), CH_OK);
    assert_int_equal(encoding, DECODE_GZIP);
    assert_int_equal(decode_encoding_named(NULL, &encoding), CH_OK);
    assert_int_equal(encoding, DECODE_IDENTITY);
    assert_int_equal(decode_encoding_named("gzip, gzip", &encoding),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(decode_encoding_named("br", &encoding), CH_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_gives_back_what_was_compressed),
        cmocka_unit_test(decode_reads_gzip_members_that_follow_one_another),
        cmocka_unit_test(decode_stops_a_bomb_at_the_limit),
        cmocka_unit_test(decode_says_when_the_data_ends_early),
        cmocka_unit_test(decode_survives_every_flipped_bit),
        cmocka_unit_test(decode_knows_three_encodings),
    };
    return cmocka_run_group_tests_name("collector/decode", tests, NULL, NULL);
}
