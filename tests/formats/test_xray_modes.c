// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/xray_modes.h"

#include "support/byte_builder.h"
#include "support/bytes.h"
#include "support/test.h"

static void add_basic(struct byte_builder *b, enum fdr_action action, uint32_t function,
                      uint64_t tsc)
{
    byte_builder_uint(b, 0, 2);
    byte_builder_uint(b, 3, 1); // the processor
    byte_builder_uint(b, action, 1);
    byte_builder_uint(b, function, 4);
    byte_builder_uint(b, tsc, 8);
    byte_builder_uint(b, 70001, 4);
    byte_builder_uint(b, 77, 4);
    byte_builder_uint(b, 0, 8);
}

static void add_argument(struct byte_builder *b, uint32_t function, uint64_t argument)
{
    byte_builder_uint(b, 1, 2);
    byte_builder_uint(b, 0xa5a5, 2);
    byte_builder_uint(b, function, 4);
    byte_builder_uint(b, 70001, 4);
    byte_builder_uint(b, 77, 4);
    byte_builder_uint(b, argument, 8);
    byte_builder_uint(b, 0xa5a5a5a5, 8);
}

static void build_basic(struct byte_builder *b, bool big_endian)
{
    *b = (struct byte_builder){ .big_endian = big_endian };
    add_basic(b, FDR_ENTER_ARGS, 5, 1000);
    add_argument(b, 5, UINT64_C(0x1122334455667788));
    add_basic(b, FDR_TAIL_EXIT, 5, 1010);
}

static void a_basic_log_has_the_records_in_both_byte_orders(void **state)
{
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        struct byte_builder b;
        struct fdr_record r[3];
        build_basic(&b, big_endian != 0);
        struct cursor log = cursor_over(b.bytes, b.size);
        log.big_endian = big_endian != 0;
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(xray_basic_next(&log, 3, &r[i]), CH_OK);
        assert_int_equal(xray_basic_next(&log, 3, &r[0]), CH_END);
        assert_int_equal(r[0].kind, FDR_FUNCTION);
        assert_int_equal(r[0].action, FDR_ENTER_ARGS);
        assert_int_equal(r[0].function, 5);
        assert_int_equal(r[0].tsc, 1000);
        assert_int_equal(r[0].tid, 70001);
        assert_int_equal(r[0].pid, 77);
        assert_int_equal(r[0].cpu, 3);
        assert_int_equal(r[1].kind, FDR_CALL_ARGUMENT);
        assert_true(r[1].argument == UINT64_C(0x1122334455667788));
        assert_int_equal(r[1].tid, 70001);
        assert_int_equal(r[2].action, FDR_TAIL_EXIT);
    }
}

static void an_unknown_record_is_passed_over(void **state)
{
    (void)state;
    struct byte_builder b;
    struct fdr_record record;
    build_basic(&b, false);
    b.bytes[0] = 2;                              // a kind there is not
    b.bytes[2 * XRAY_BASIC_RECORD_SIZE + 3] = 9; // an action there is not
    struct cursor log = cursor_over(b.bytes, b.size);
    assert_int_equal(xray_basic_next(&log, 3, &record), CH_ERR_UNSUPPORTED);
    assert_int_equal(xray_basic_next(&log, 3, &record), CH_OK);
    assert_int_equal(xray_basic_next(&log, 3, &record), CH_ERR_UNSUPPORTED);
    assert_int_equal(xray_basic_next(&log, 3, &record), CH_END);
}

static int cut_basic(const uint8_t *bytes, size_t size, void *context)
{
    struct cursor log = cursor_over(bytes, size);
    struct fdr_record record;
    size_t whole = 0;
    enum ch_status status;
    (void)context;
    while ((status = xray_basic_next(&log, 3, &record)) == CH_OK)
        whole++;
    return whole != size / XRAY_BASIC_RECORD_SIZE ||
           status != (size % XRAY_BASIC_RECORD_SIZE == 0 ? CH_END : CH_ERR_TRUNCATED);
}

static void a_basic_log_that_is_cut_has_the_whole_records(void **state)
{
    (void)state;
    struct byte_builder b;
    build_basic(&b, false);
    assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, cut_basic, NULL), 0);
}

// build_profile has two threads: 6 called 5, which called 1.
static void build_profile(struct byte_builder *b, bool big_endian)
{
    static const uint32_t paths[][4] = { { 6 }, { 5, 6 }, { 1, 5, 6 } };
    *b = (struct byte_builder){ .big_endian = big_endian };
    byte_builder_uint(b, UINT64_C(0x7872617970726f66), 8);
    byte_builder_uint(b, 0x20180424, 8);
    byte_builder_uint(b, 123, 8);
    byte_builder_uint(b, 77, 8);
    for (size_t thread = 0; thread < 2; thread++) {
        byte_builder_uint(b, 16 + 3 * 16 + (2 + 3 + 4) * 4, 4); // with this header
        byte_builder_uint(b, thread, 4);
        byte_builder_uint(b, 70001 + thread, 8);
        for (size_t i = 0; i < 3; i++) {
            for (size_t k = 0; k <= i + 1; k++)
                byte_builder_uint(b, paths[i][k], 4);
            byte_builder_uint(b, 10 + i, 8);
            byte_builder_uint(b, 1000 * i, 8);
        }
    }
}

static void a_profile_has_the_paths_of_each_thread(void **state)
{
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        struct byte_builder b;
        struct xray_profile profile;
        static struct xray_path path;
        build_profile(&b, big_endian != 0);
        assert_int_equal(xray_profile_init(&profile, b.bytes, b.size), CH_OK);
        assert_int_equal(profile.pid, 77);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(xray_profile_next(&profile, &path), CH_OK);
            assert_int_equal(path.tid, 70001 + i / 3);
            assert_int_equal(path.count, 1 + i % 3);
            assert_int_equal(path.functions[path.count - 1], 6);
            assert_int_equal(path.calls, 10 + i % 3);
            assert_int_equal(path.time, 1000 * (i % 3));
        }
        assert_int_equal(xray_profile_next(&profile, &path), CH_END);
    }
}

static int visit_profile(const uint8_t *bytes, size_t size, void *context)
{
    static struct xray_path path;
    struct xray_profile profile;
    size_t paths = 0;
    (void)context;
    if (xray_profile_init(&profile, bytes, size) != CH_OK)
        return 0;
    while (xray_profile_next(&profile, &path) == CH_OK)
        paths++;
    return paths > size;
}

static void damage_ends_a_profile(void **state)
{
    (void)state;
    struct byte_builder b;
    build_profile(&b, false);
    assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, visit_profile, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, visit_profile, NULL), 0);
}

static void a_path_past_the_limit_ends_a_profile(void **state)
{
    (void)state;
    static uint8_t bytes[XRAY_PROFILE_HEADER_SIZE + 16 + (XRAY_PATH_MAX + 2) * 4 + 16];
    static struct xray_path path;
    struct byte_builder b = { .big_endian = false };
    struct xray_profile profile;
    byte_builder_uint(&b, UINT64_C(0x7872617970726f66), 8);
    byte_builder_uint(&b, 1, 8);
    byte_builder_uint(&b, 0, 8);
    byte_builder_uint(&b, 0, 8);
    byte_builder_uint(&b, sizeof(bytes) - XRAY_PROFILE_HEADER_SIZE, 4);
    memset(bytes, 1, sizeof(bytes));
    memcpy(bytes, b.bytes, b.size);
    assert_int_equal(xray_profile_init(&profile, bytes, sizeof(bytes)), CH_OK);
    assert_int_equal(xray_profile_next(&profile, &path), CH_ERR_LIMIT);
    assert_int_equal(xray_profile_next(&profile, &path), CH_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_basic_log_has_the_records_in_both_byte_orders),
        cmocka_unit_test(an_unknown_record_is_passed_over),
        cmocka_unit_test(a_basic_log_that_is_cut_has_the_whole_records),
        cmocka_unit_test(a_profile_has_the_paths_of_each_thread),
        cmocka_unit_test(damage_ends_a_profile),
        cmocka_unit_test(a_path_past_the_limit_ends_a_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
