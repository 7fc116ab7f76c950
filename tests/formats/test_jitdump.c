// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/jitdump.h"

#include <stdlib.h>

#include "support/jitdump_builder.h"
#include "support/test.h"

static void records_of_code_are_read_in_either_byte_order(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct byte_builder out = { .big_endian = big };
        struct jitdump_record record;
        jitdump_build(&out);
        struct cursor c = cursor_over(out.bytes, out.size);
        assert_int_equal(jitdump_open(&c), CH_OK);
        assert_int_equal(jitdump_next(&c, &record), CH_OK);
        assert_int_equal(record.kind, JITDUMP_LOAD);
        assert_int_equal(record.start, 0x2000);
        assert_int_equal(record.size, 0x100);
        assert_int_equal(record.index, 7);
        assert_int_equal(record.name_size, 1);
        assert_int_equal(record.name[0], 'f');
        assert_int_equal(jitdump_next(&c, &record), CH_OK);
        assert_int_equal(record.kind, JITDUMP_MOVE);
        assert_int_equal(record.start, 0x3000);
        assert_int_equal(jitdump_next(&c, &record), CH_END);
    }
}

static void another_version_or_format_is_refused(void **state)
{
    (void)state;
    struct byte_builder out = { 0 };
    jitdump_build(&out);
    out.bytes[4] = 2;
    struct cursor c = cursor_over(out.bytes, out.size);
    assert_int_equal(jitdump_open(&c), CH_ERR_UNSUPPORTED);
    out.bytes[0] = 'E';
    c = cursor_over(out.bytes, out.size);
    assert_int_equal(jitdump_open(&c), CH_ERR_UNSUPPORTED);
}

static void a_record_shorter_than_its_head_is_refused(void **state)
{
    (void)state;
    struct byte_builder out = { 0 };
    struct jitdump_record record;
    jitdump_build(&out);
    out.bytes[48 + 4] = 8;
    struct cursor c = cursor_over(out.bytes, out.size);
    assert_int_equal(jitdump_open(&c), CH_OK);
    assert_int_equal(jitdump_next(&c, &record), CH_ERR_MALFORMED);
}

static void a_dump_that_is_cut_has_fewer_records_and_no_others(void **state)
{
    (void)state;
    struct byte_builder out = { 0 };
    jitdump_build(&out);
    for (size_t size = 0; size < out.size; size++) {
        uint8_t *bytes = malloc(size + 1);
        struct jitdump_record record;
        size_t count = 0;
        bool right = true;
        memcpy(bytes, out.bytes, size);
        struct cursor c = cursor_over(bytes, size);
        if (jitdump_open(&c) == CH_OK)
            for (; jitdump_next(&c, &record) == CH_OK; count++)
                right = right && record.index == 7;
        free(bytes);
        assert_true(right);
        assert_true(count < 2);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_code_are_read_in_either_byte_order),
        cmocka_unit_test(another_version_or_format_is_refused),
        cmocka_unit_test(a_record_shorter_than_its_head_is_refused),
        cmocka_unit_test(a_dump_that_is_cut_has_fewer_records_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
