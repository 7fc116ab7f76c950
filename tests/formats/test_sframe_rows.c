// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe.h"

#include "support/sframe_builder.h"
#include "support/test.h"

// rows_of builds a section with one function of size bytes and these rows, and begins
// to read them.
struct one_function {
    struct sframe_builder builder;
    struct sframe_section section;
    struct sframe_function function;
    struct sframe_rows rows;
};

static void rows_of(struct one_function *one, uint8_t version, enum sframe_arch arch,
                    struct sframe_builder_function function)
{
    one->builder = (struct sframe_builder){ .version = version,
                                            .flags = SFRAME_SORTED,
                                            .arch = (uint8_t)arch,
                                            .fixed_ra = arch == SFRAME_AMD64 ? -8 : 0,
                                            .functions = { function },
                                            .function_count = 1 };
    sframe_builder_build(&one->builder);
    assert_int_equal(sframe_section_init(&one->section, one->builder.out.bytes,
                                         one->builder.out.size, 0),
                     CH_OK);
    assert_int_equal(sframe_read_function(&one->section, 0, &one->function), CH_OK);
    sframe_rows_init(&one->rows, &one->section, &one->function);
}

// rows_of_bytes is rows_of for a plain function of 16 bytes.
static void rows_of_bytes(struct one_function *one, uint8_t version,
                          enum sframe_arch arch, uint32_t count, const char *bytes,
                          size_t size)
{
    rows_of(one, version, arch,
            (struct sframe_builder_function){
                .size = 16, .row_count = count, .rows = bytes, .rows_size = size });
}

static void assert_rule(struct unwind_rule rule, enum unwind_rule_kind kind,
                        uint16_t reg, int64_t offset)
{
    assert_int_equal(rule.kind, kind);
    if (kind == UNWIND_UNDEFINED || kind == UNWIND_SAME)
        return;
    assert_int_equal(rule.offset, offset);
    if (kind == UNWIND_REGISTER_PLUS || kind == UNWIND_AT_REGISTER)
        assert_int_equal(rule.reg, reg);
}

static void rows_end_where_the_next_begins_or_the_function_does(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    // sp+8 from 0; sp+16 and FP at CFA-16 from 4
    rows_of_bytes(&one, 2, SFRAME_AMD64, 2, "\x00\x03\x08\x04\x05\x10\xf0", 7);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.start, 0);
    assert_int_equal(row.end, 4);
    assert_rule(row.fp, UNWIND_SAME, 0, 0);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.start, 4);
    assert_int_equal(row.end, 16);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, UNWIND_AMD64_SP, 16);
    assert_rule(row.ra, UNWIND_AT_CFA, 0, -8);
    assert_rule(row.fp, UNWIND_AT_CFA, 0, -16);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_END);
}

static void words_have_two_and_four_bytes_in_either_order(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    // 23: SP, one word of two bytes; 42: FP, one word of four
    rows_of_bytes(&one, 2, SFRAME_AMD64, 2, "\x00\x23\x00\x12\x04\x42\x00\x00\x01\x00",
                  10);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, UNWIND_AMD64_SP, 0x1200);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, UNWIND_AMD64_FP, 0x10000);
    rows_of_bytes(&one, 2, SFRAME_AARCH64_BIG, 1, "\x00\x23\x00\x12", 4);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, UNWIND_AARCH64_SP, 0x12);
}

static void aarch64_rows_track_the_return_address_before_the_frame_pointer(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    // 87: SP, three words, signed; 85: two words
    rows_of_bytes(&one, 1, SFRAME_AARCH64_LITTLE, 2,
                  "\x00\x85\x20\xe8\x08\x87\x20\xe8\xe0", 9);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.ra, UNWIND_AT_CFA, 0, -24);
    assert_rule(row.fp, UNWIND_SAME, 0, 0);
    assert_int_equal(row.flags, UNWIND_RA_MANGLED);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.fp, UNWIND_AT_CFA, 0, -32);
}

static void s390x_offsets_are_scaled_and_biased_and_name_registers(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    // CFA = r15 + 2 * 8 + 160, no RA slot, FP in register 17 (35 >> 1)
    rows_of_bytes(&one, 2, SFRAME_S390X, 1, "\x00\x07\x02\x00\x23", 5);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, UNWIND_S390X_SP, 176);
    assert_rule(row.ra, UNWIND_SAME, 0, 0);
    assert_rule(row.fp, UNWIND_REGISTER_PLUS, 17, 0);
    // In version 3 an odd word is an offset like any other.
    rows_of_bytes(&one, 3, SFRAME_S390X, 1, "\x00\x07\x02\x00\x23", 5);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_rule(row.fp, UNWIND_AT_CFA, 0, 35);
}

static void a_row_without_words_is_outermost_since_version_2(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 2, SFRAME_AMD64, 1, "\x00\x00", 2);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.flags, UNWIND_OUTERMOST);
    assert_rule(row.ra, UNWIND_UNDEFINED, 0, 0);
    rows_of_bytes(&one, 1, SFRAME_AMD64, 1, "\x00\x00", 2);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_MALFORMED);
}

static void a_function_without_rows_is_outermost_in_version_3(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 3, SFRAME_AMD64, 0, "", 0);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.flags, UNWIND_OUTERMOST);
    assert_int_equal(row.end, 16);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_END);
    rows_of_bytes(&one, 2, SFRAME_AMD64, 0, "\x00\x00", 2);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_END);
}

static void a_row_may_begin_at_the_end_but_not_behind_it(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 2, SFRAME_AMD64, 2, "\x00\x03\x08\x10\x03\x10", 6);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.start, 16);
    assert_int_equal(row.end, 16);
    rows_of_bytes(&one, 2, SFRAME_AMD64, 2, "\x00\x03\x08\x11\x03\x10", 6);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_MALFORMED);
}

static void rows_that_do_not_advance_are_refused(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 2, SFRAME_AMD64, 2, "\x00\x03\x08\x00\x03\x10", 6);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_MALFORMED);
}

static void words_of_unknown_size_or_number_are_refused(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 2, SFRAME_AMD64, 1, "\x00\x63\0\0\0\0\0\0\0\0", 10);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_UNSUPPORTED);
    rows_of_bytes(&one, 2, SFRAME_AMD64, 1, "\x00\x07\x08\xf0\xf0", 5);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_MALFORMED);
}

static void row_counts_beyond_the_bytes_are_cut(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of_bytes(&one, 2, SFRAME_AMD64, UINT32_MAX, "\x00\x03\x08", 3);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_ERR_TRUNCATED);
}

// flex_row reads the first row of a version 3 function whose rows name registers.
static enum ch_status flex_row(enum sframe_arch arch, const char *bytes, size_t size,
                               struct unwind_row *out)
{
    struct one_function one;
    rows_of(
        &one, 3, arch,
        (struct sframe_builder_function){
            .size = 16, .info2 = 1, .row_count = 1, .rows = bytes, .rows_size = size });
    return sframe_next_row(&one.rows, out);
}

static void flex_rows_name_their_registers(void **state)
{
    (void)state;
    struct unwind_row row;
    // CFA = r10 + 0
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x04\x51\x00", 4, &row), CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, 10, 0);
    assert_rule(row.ra, UNWIND_AT_CFA, 0, -8);
    assert_rule(row.fp, UNWIND_SAME, 0, 0);
    // CFA = [r6 - 40], RA padded, FP = [r6 + 0]
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x0a\x33\xd8\x00\x33\x00", 7, &row),
                     CH_OK);
    assert_rule(row.cfa, UNWIND_AT_REGISTER, 6, -40);
    assert_rule(row.ra, UNWIND_AT_CFA, 0, -8);
    assert_rule(row.fp, UNWIND_AT_REGISTER, 6, 0);
    // CFA = r7 + 32, RA = [CFA - 24], FP = r12
    assert_int_equal(
        flex_row(SFRAME_AMD64, "\x00\x0c\x39\x20\x02\xe8\x61\x00", 8, &row), CH_OK);
    assert_rule(row.ra, UNWIND_AT_CFA, 0, -24);
    assert_rule(row.fp, UNWIND_REGISTER_PLUS, 12, 0);
    // CFA = r7 + 16, RA = CFA + 8 itself
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x08\x39\x10\x04\x08", 6, &row),
                     CH_ERR_UNSUPPORTED);
}

static void flex_rows_of_s390x_scale_the_cfa_alone(void **state)
{
    (void)state;
    struct unwind_row row;
    // CFA = r15 + 24 * 8 + 160, RA padded, FP = r17
    assert_int_equal(flex_row(SFRAME_S390X, "\x00\x0a\x79\x18\x00\x89\x00", 7, &row),
                     CH_OK);
    assert_rule(row.cfa, UNWIND_REGISTER_PLUS, 15, 352);
    assert_rule(row.ra, UNWIND_SAME, 0, 0);
    assert_rule(row.fp, UNWIND_REGISTER_PLUS, 17, 0);
}

static void flex_rows_whose_cfa_has_no_register_are_refused(void **state)
{
    (void)state;
    struct unwind_row row;
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x04\x02\x08", 4, &row),
                     CH_ERR_MALFORMED);
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x02\x00", 3, &row), CH_ERR_MALFORMED);
    assert_int_equal(flex_row(SFRAME_AMD64, "\x00\x02\x39", 3, &row), CH_ERR_MALFORMED);
}

static void signal_frames_and_keys_come_out_as_flags(void **state)
{
    (void)state;
    struct one_function one;
    struct unwind_row row;
    rows_of(&one, 3, SFRAME_AARCH64_LITTLE,
            (struct sframe_builder_function){ .size = 16,
                                              .info = 0xa0,
                                              .row_count = 1,
                                              .rows = "\0\3\0",
                                              .rows_size = 3 });
    assert_int_equal(sframe_next_row(&one.rows, &row), CH_OK);
    assert_int_equal(row.flags, UNWIND_SIGNAL_FRAME | UNWIND_KEY_B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_end_where_the_next_begins_or_the_function_does),
        cmocka_unit_test(words_have_two_and_four_bytes_in_either_order),
        cmocka_unit_test(
            aarch64_rows_track_the_return_address_before_the_frame_pointer),
        cmocka_unit_test(s390x_offsets_are_scaled_and_biased_and_name_registers),
        cmocka_unit_test(a_row_without_words_is_outermost_since_version_2),
        cmocka_unit_test(a_function_without_rows_is_outermost_in_version_3),
        cmocka_unit_test(a_row_may_begin_at_the_end_but_not_behind_it),
        cmocka_unit_test(rows_that_do_not_advance_are_refused),
        cmocka_unit_test(words_of_unknown_size_or_number_are_refused),
        cmocka_unit_test(row_counts_beyond_the_bytes_are_cut),
        cmocka_unit_test(flex_rows_name_their_registers),
        cmocka_unit_test(flex_rows_of_s390x_scale_the_cfa_alone),
        cmocka_unit_test(flex_rows_whose_cfa_has_no_register_are_refused),
        cmocka_unit_test(signal_frames_and_keys_come_out_as_flags),
    };
    return cmocka_run_group_tests_name("formats/sframe_rows", tests, NULL, NULL);
}
