// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe_writer.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { VADDR = 0x400000, FUNCTIONS = 60, ROWS_MAX = 12, CASES = 300 };

// A function is what was written, and what has to be read.
struct function {
    uint64_t start;
    uint64_t end;
    size_t count;
    struct unwind_row rows[ROWS_MAX];
};

static unsigned seed;

static uint32_t below(uint32_t limit)
{
    return (uint32_t)rand_r(&seed) % limit;
}

static int64_t random_offset(void)
{
    static const uint32_t limits[] = { 100, 30000, 1000000 };
    return ((int64_t)below(limits[below(3)]) - 40) * 8;
}

static struct unwind_row random_row(uint8_t version, enum sframe_arch arch)
{
    uint16_t sp;
    uint16_t fp;
    sframe_base_registers(arch, &sp, &fp);
    struct unwind_row row = { .cfa = { .kind = UNWIND_REGISTER_PLUS,
                                       .reg = below(2) != 0 ? sp : fp } };
    row.cfa.offset = random_offset();
    row.ra.kind = row.fp.kind = UNWIND_SAME;
    if (arch == SFRAME_AMD64)
        row.ra = (struct unwind_rule){ .kind = UNWIND_AT_CFA, .offset = -8 };
    else if (below(2) != 0)
        row.ra =
            (struct unwind_rule){ .kind = UNWIND_AT_CFA, .offset = random_offset() };
    if (row.ra.kind == UNWIND_AT_CFA && below(2) != 0)
        row.fp =
            (struct unwind_rule){ .kind = UNWIND_AT_CFA, .offset = random_offset() };
    if (arch != SFRAME_AMD64 && below(4) == 0)
        row.flags |= UNWIND_RA_MANGLED;
    if (version == 3 && below(9) == 0)
        row.cfa = (struct unwind_rule){ .kind = UNWIND_AT_REGISTER, .reg = 10 };
    if (version == 3 && below(9) == 0)
        row.fp = (struct unwind_rule){ .kind = UNWIND_AT_REGISTER, .reg = 6 };
    return row;
}

static void make_function(struct function *function, uint64_t start, uint8_t version,
                          enum sframe_arch arch)
{
    static const uint32_t steps[] = { 8, 900, 30000 };
    uint32_t step = steps[below(3)];
    *function = (struct function){ .start = start, .end = start };
    function->count = 1 + below(ROWS_MAX);
    for (size_t i = 0; i < function->count; i++) {
        struct unwind_row *row = &function->rows[i];
        *row = random_row(version, arch);
        row->start = function->end;
        function->end = row->end = function->end + 1 + below(step);
    }
}

static void assert_same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    assert_int_equal(a->kind, b->kind);
    if (a->kind != UNWIND_SAME)
        assert_int_equal(a->offset, b->offset);
    if (a->kind == UNWIND_REGISTER_PLUS || a->kind == UNWIND_AT_REGISTER)
        assert_int_equal(a->reg, b->reg);
}

static void assert_function_reads(const struct sframe_section *section,
                                  const struct function *function)
{
    for (size_t i = 0; i < function->count; i++) {
        const struct unwind_row *row = &function->rows[i];
        const uint64_t pcs[] = { row->start, row->end - 1 };
        for (size_t k = 0; k < 2; k++) {
            struct unwind_row read = { 0 };
            assert_int_equal(sframe_lookup(section, pcs[k], &read), CH_OK);
            assert_same_rule(&read.cfa, &row->cfa);
            assert_same_rule(&read.ra, &row->ra);
            assert_same_rule(&read.fp, &row->fp);
            assert_int_equal(read.flags & UNWIND_RA_MANGLED,
                             row->flags & UNWIND_RA_MANGLED);
        }
    }
}

static void sframe_writes_what_the_reader_reads(void **state)
{
    (void)state;
    static struct function functions[FUNCTIONS];
    unsigned rows = 0;
    seed = 1;
    for (int i = 0; i < CASES; i++) {
        const uint8_t version = i % 2 != 0 ? 2 : 3;
        const enum sframe_arch arch = i % 3 != 0 ? SFRAME_AMD64 : SFRAME_AARCH64_LITTLE;
        struct sframe_writer writer;
        struct sframe_section section;
        struct text out = { 0 };
        uint64_t at = VADDR / 2;
        assert_int_equal(sframe_writer_init(&writer, version, arch), CH_OK);
        for (size_t k = 0; k < FUNCTIONS; k++) {
            make_function(&functions[k], at + below(50), version, arch);
            at = functions[k].end;
        }
        // In any order.
        for (size_t k = 0; k < FUNCTIONS; k++) {
            const struct function *f = &functions[k * 7 % FUNCTIONS];
            assert_int_equal(
                sframe_writer_add(&writer, f->start, f->end, f->rows, f->count), CH_OK);
        }
        assert_int_equal(sframe_writer_finish(&writer, VADDR, &out), CH_OK);
        assert_int_equal(sframe_section_init(&section, out.bytes, out.size, VADDR),
                         CH_OK);
        assert_int_equal(sframe_section_size(&section), out.size);
        for (size_t k = 0; k < FUNCTIONS; k++)
            assert_function_reads(&section, &functions[k]);
        rows += section.row_count;
        sframe_writer_deinit(&writer);
        text_deinit(&out);
    }
    print_message("%d sections, %u rows, seed 1\n", CASES, rows);
}

static const struct unwind_row plain = {
    .start = 0x1000,
    .end = 0x1010,
    .cfa = { .kind = UNWIND_REGISTER_PLUS, .reg = UNWIND_AMD64_SP, .offset = 8 },
    .ra = { .kind = UNWIND_AT_CFA, .offset = -8 },
    .fp = { .kind = UNWIND_SAME },
};

static enum ch_status add_row(uint8_t version, const struct unwind_row *row)
{
    struct sframe_writer writer;
    assert_int_equal(sframe_writer_init(&writer, version, SFRAME_AMD64), CH_OK);
    assert_int_equal(sframe_writer_add(&writer, 0x1000, 0x1010, &plain, 1), CH_OK);
    const size_t size = writer.rows.size;
    enum ch_status status = sframe_writer_add(&writer, 0x1000, 0x1010, row, 1);
    if (status != CH_OK)
        assert_true(writer.count == 1 && writer.rows.size == size);
    sframe_writer_deinit(&writer);
    return status;
}

static void sframe_refuses_functions_that_a_version_cannot_express(void **state)
{
    (void)state;
    struct unwind_row row = plain;
    row.cfa = (struct unwind_rule){ .kind = UNWIND_AT_REGISTER, .reg = 10 };
    assert_int_equal(add_row(2, &row), CH_ERR_UNSUPPORTED);
    assert_int_equal(add_row(3, &row), CH_OK);
    row = plain;
    row.flags = UNWIND_SIGNAL_FRAME;
    assert_int_equal(add_row(2, &row), CH_ERR_UNSUPPORTED);
    assert_int_equal(add_row(3, &row), CH_OK);
    row = plain;
    row.ra.kind = UNWIND_UNDEFINED; // the outermost function
    assert_int_equal(add_row(2, &row), CH_ERR_UNSUPPORTED);
    assert_int_equal(add_row(3, &row), CH_OK);
    row = plain;
    row.cfa = (struct unwind_rule){ .kind = UNWIND_EXPRESSION };
    assert_int_equal(add_row(3, &row), CH_ERR_UNSUPPORTED);
    row = plain;
    row.cfa.offset = INT64_C(1) << 40;
    assert_int_equal(add_row(3, &row), CH_ERR_UNSUPPORTED);
    row = plain;
    row.start = 0x1004; // nothing holds at the function's start
    assert_int_equal(add_row(3, &row), CH_ERR_UNSUPPORTED);
}

static void sframe_refuses_versions_and_machines_it_does_not_write(void **state)
{
    (void)state;
    struct sframe_writer writer;
    assert_int_equal(sframe_writer_init(&writer, 1, SFRAME_AMD64), CH_ERR_UNSUPPORTED);
    assert_int_equal(sframe_writer_init(&writer, 2, SFRAME_S390X), CH_ERR_UNSUPPORTED);
    assert_int_equal(sframe_writer_init(&writer, 2, SFRAME_AMD64), CH_OK);
    struct text out = { 0 };
    assert_int_equal(sframe_writer_add(&writer, 0x1000, 0x1010, &plain, 1), CH_OK);
    // Version 2 has 32 bits for the distance.
    assert_int_equal(sframe_writer_finish(&writer, UINT64_C(1) << 40, &out),
                     CH_ERR_LIMIT);
    sframe_writer_deinit(&writer);
    text_deinit(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sframe_writes_what_the_reader_reads),
        cmocka_unit_test(sframe_refuses_functions_that_a_version_cannot_express),
        cmocka_unit_test(sframe_refuses_versions_and_machines_it_does_not_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
