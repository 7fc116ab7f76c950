// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe.h"

#include "support/bytes.h"
#include "support/sframe_builder.h"
#include "support/test.h"

// One row from offset 0 on: 03 is SP, one word of one byte. CFA = SP + 8.
#define ROW_SP_8 "\x00\x03\x08"
#define VADDR 0x10000u

// Three functions of amd64, at 0x100, 0x200 (without code) and 0x200.
static struct sframe_builder three_functions(void)
{
    return (struct sframe_builder){
        .version = 2,
        .flags = SFRAME_SORTED,
        .arch = SFRAME_AMD64,
        .fixed_ra = -8,
        .functions = { { 0x100, 0x20, 0, 0, 0, 1, ROW_SP_8, 3 },
                       { 0x200, 0x40, 0, 0, 0, 1, ROW_SP_8, 3 },
                       { 0x200, 0, 0, 0, 0, 1, ROW_SP_8, 3 } },
        .function_count = 3,
    };
}

static enum ch_status open_built(struct sframe_builder *s, struct sframe_section *out)
{
    sframe_builder_build(s);
    return sframe_section_init(out, s->out.bytes, s->out.size, VADDR);
}

static void sframe_reads_the_header(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(section.version, 2);
    assert_int_equal(section.arch, SFRAME_AMD64);
    assert_int_equal(section.fixed_ra, -8);
    assert_int_equal(section.function_count, 3);
    assert_int_equal(sframe_section_size(&section), s.out.size);
}

static void sframe_takes_no_more_than_the_header_says(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    sframe_builder_build(&s);
    size_t size = s.out.size;
    assert_int_equal(sframe_section_init(&section, s.out.bytes, size + 100, VADDR),
                     CH_OK);
    assert_int_equal(sframe_section_size(&section), size);
}

static void sframe_skips_a_header_extension(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct sframe_function f;
    s.aux_size = 7;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_read_function(&section, 0, &f), CH_OK);
    assert_int_equal(f.start, VADDR + 0x100);
}

static void sframe_refuses_kinds_it_does_not_know(void **state)
{
    (void)state;
    struct sframe_section section;
    struct sframe_builder version = three_functions();
    struct sframe_builder flag = three_functions();
    struct sframe_builder pcrel_1 = three_functions();
    struct sframe_builder arch = three_functions();
    struct sframe_builder s390x_1 = three_functions();
    flag.flags = 8;
    pcrel_1.version = 1;
    pcrel_1.flags = SFRAME_START_PCREL;
    arch.arch = 5;
    s390x_1.version = 1;
    s390x_1.arch = SFRAME_S390X;
    sframe_builder_build(&version);
    version.out.bytes[2] = 4;
    assert_int_equal(
        sframe_section_init(&section, version.out.bytes, version.out.size, 0),
        CH_ERR_UNSUPPORTED);
    assert_int_equal(open_built(&flag, &section), CH_ERR_UNSUPPORTED);
    assert_int_equal(open_built(&pcrel_1, &section), CH_ERR_UNSUPPORTED);
    assert_int_equal(open_built(&arch, &section), CH_ERR_UNSUPPORTED);
    assert_int_equal(open_built(&s390x_1, &section), CH_ERR_UNSUPPORTED);
}

static void sframe_refuses_an_order_its_architecture_has_not(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    sframe_builder_build(&s);
    s.out.bytes[4] = SFRAME_AARCH64_BIG;
    assert_int_equal(sframe_section_init(&section, s.out.bytes, s.out.size, 0),
                     CH_ERR_MALFORMED);
    assert_int_equal(sframe_section_init(&section,
                                         "\x7f"
                                         "ELF",
                                         4, 0),
                     CH_ERR_MALFORMED);
}

static void sframe_believes_no_count_its_bytes_cannot_hold(void **state)
{
    (void)state;
    struct sframe_section section;
    for (size_t field = 8; field < 28; field += 4) {
        struct sframe_builder s = three_functions();
        sframe_builder_build(&s);
        memset(s.out.bytes + field, 0xff, 4);
        enum ch_status status =
            sframe_section_init(&section, s.out.bytes, s.out.size, 0);
        // The number of rows (at 12) is said again by each function.
        assert_true(field == 12 ? status == CH_OK : status != CH_OK);
    }
}

static void sframe_refuses_rows_that_begin_among_the_functions(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    sframe_builder_build(&s);
    s.out.bytes[24]--; // where rows begin
    assert_int_equal(sframe_section_init(&section, s.out.bytes, s.out.size, 0),
                     CH_ERR_MALFORMED);
}

static void sframe_counts_starts_from_their_fields_when_flagged(void **state)
{
    (void)state;
    struct sframe_section section;
    struct sframe_function f;
    for (uint8_t version = 2; version <= 3; version++) {
        struct sframe_builder s = three_functions();
        s.version = version;
        s.flags |= SFRAME_START_PCREL;
        s.functions[0].start = -0x20;
        assert_int_equal(open_built(&s, &section), CH_OK);
        assert_int_equal(sframe_read_function(&section, 0, &f), CH_OK);
        assert_int_equal(f.start, VADDR + 28 - 0x20);
        assert_int_equal(sframe_read_function(&section, 1, &f), CH_OK);
        uint64_t start = VADDR + 28 + (version == 2 ? 20 : 16) + 0x200;
        assert_int_equal(f.start, start);
        assert_int_equal(sframe_find_function(&section, start, &f), CH_OK);
        assert_int_equal(f.start, start);
        assert_int_equal(sframe_find_function(&section, start - 1, &f),
                         CH_ERR_NOT_FOUND);
    }
}

static void sframe_finds_the_function_that_covers_an_address(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct sframe_function f;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_find_function(&section, VADDR + 0x100, &f), CH_OK);
    assert_int_equal(sframe_find_function(&section, VADDR + 0x11f, &f), CH_OK);
    assert_int_equal(f.size, 0x20);
    assert_int_equal(sframe_find_function(&section, VADDR + 0x200, &f), CH_OK);
    assert_int_equal(f.size, 0x40);
    assert_int_equal(sframe_find_function(&section, VADDR + 0x120, &f),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(sframe_find_function(&section, VADDR + 0xff, &f),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(sframe_find_function(&section, 0, &f), CH_ERR_NOT_FOUND);
}

// find_each looks for the first and last byte of each function of a section of count
// functions, and for the bytes beside them, which no function has.
static void find_each(struct sframe_builder *s, size_t count)
{
    struct sframe_section section;
    struct sframe_function f;
    s->function_count = count;
    for (size_t i = 0; i < count; i++)
        s->functions[i] = (struct sframe_builder_function){
            -0x100 + 0x40 * (int64_t)i, 0x20, 0, 0, 0, 1, ROW_SP_8, 3
        };
    assert_int_equal(open_built(s, &section), CH_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t start = VADDR - 0x100 + 0x40 * i;
        assert_int_equal(sframe_find_function(&section, start - 1, &f),
                         CH_ERR_NOT_FOUND);
        assert_int_equal(sframe_find_function(&section, start, &f), CH_OK);
        assert_int_equal(f.start, start);
        assert_int_equal(sframe_find_function(&section, start + 0x1f, &f), CH_OK);
        assert_int_equal(f.start, start);
        assert_int_equal(sframe_find_function(&section, start + 0x20, &f),
                         CH_ERR_NOT_FOUND);
    }
}

static void sframe_finds_each_function_among_any_number_of_them(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 80; count++) {
        for (uint8_t version = 1; version <= 3; version++) {
            struct sframe_builder s = { .version = version,
                                        .flags = SFRAME_SORTED,
                                        .arch = count % 2 ? SFRAME_AMD64
                                                          : SFRAME_AARCH64_BIG };
            find_each(&s, count);
        }
    }
}

static void sframe_steps_over_functions_without_code(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct sframe_function f;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_find_function(&section, VADDR + 0x210, &f), CH_OK);
    assert_int_equal(f.size, 0x40);
}

static void sframe_looks_through_functions_that_are_not_sorted(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct sframe_function f;
    s.version = 3;
    s.flags = SFRAME_START_PCREL;
    s.functions[0].start = 0x5000;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_true(sframe_section_usable(&section));
    assert_int_equal(sframe_find_function(&section, VADDR + 28 + 0x5001, &f), CH_OK);
    assert_int_equal(f.size, 0x20);
}

static void sframe_mistrusts_old_sections_that_are_not_sorted(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    s.flags = 0;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_false(sframe_section_usable(&section));
}

static void sframe_refuses_function_kinds_it_does_not_know(void **state)
{
    (void)state;
    static const struct {
        uint8_t version, info, info2;
    } unknown[] = { { 2, 0x03, 0 }, { 2, 0x40, 0 }, { 1, 0x80, 0 },
                    { 3, 0x40, 0 }, { 3, 0, 2 },    { 3, 0, 0x20 } };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct sframe_builder s = three_functions();
        struct sframe_section section;
        struct sframe_function f;
        s.version = unknown[i].version;
        s.functions[0].info = unknown[i].info;
        s.functions[0].info2 = unknown[i].info2;
        assert_int_equal(open_built(&s, &section), CH_OK);
        assert_int_equal(sframe_read_function(&section, 0, &f), CH_ERR_UNSUPPORTED);
    }
}

static void sframe_refuses_blocks_of_no_size(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct sframe_function f;
    s.functions[0].info = 0x10;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_read_function(&section, 0, &f), CH_ERR_MALFORMED);
    s.functions[0].rep_size = 0x21; // longer than the function
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_read_function(&section, 0, &f), CH_ERR_MALFORMED);
}

static void sframe_gives_the_range_a_row_holds_for_in_its_block(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct unwind_row row;
    s.functions[0].info = 0x10;
    s.functions[0].rep_size = 16;
    s.functions[0].row_count = 2;
    s.functions[0].rows = ROW_SP_8 "\x0b\x03\x10";
    s.functions[0].rows_size = 6;
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_lookup(&section, VADDR + 0x11c, &row), CH_OK);
    assert_int_equal(row.start, VADDR + 0x11b);
    assert_int_equal(row.end, VADDR + 0x120);
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(row.cfa.reg, UNWIND_AMD64_SP);
    assert_int_equal(row.ra.kind, UNWIND_AT_CFA);
    assert_int_equal(row.ra.offset, -8);
}

static void sframe_passes_over_the_plt_row_that_gnu_ld_gets_wrong(void **state)
{
    (void)state;
    struct sframe_builder s = three_functions();
    struct sframe_section section;
    struct unwind_row row;
    s.functions[0].info = 0x10;
    s.functions[0].rep_size = 16;
    s.functions[0].rows = "\x00\x03\x10";
    assert_int_equal(open_built(&s, &section), CH_OK);
    assert_int_equal(sframe_lookup(&section, VADDR + 0x100, &row), CH_ERR_NOT_FOUND);
}

// explore reads everything of damaged bytes and looks its functions up.
static int explore(const uint8_t *bytes, size_t size, void *context)
{
    struct sframe_section section;
    struct sframe_function f;
    struct unwind_row found;
    (void)context;
    if (sframe_section_init(&section, bytes, size, VADDR) != CH_OK)
        return 0;
    for (uint32_t i = 0; i < section.function_count; i++) {
        if (sframe_read_function(&section, i, &f) == CH_OK)
            (void)!sframe_lookup(&section, f.start, &found);
    }
    return 0;
}

static void sframe_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    for (uint8_t version = 1; version <= 3; version++) {
        struct sframe_builder s = three_functions();
        s.version = version;
        sframe_builder_build(&s);
        assert_int_equal(bytes_cut_everywhere(s.out.bytes, s.out.size, explore, NULL),
                         0);
        assert_int_equal(bytes_flip_every_bit(s.out.bytes, s.out.size, explore, NULL),
                         0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sframe_reads_the_header),
        cmocka_unit_test(sframe_takes_no_more_than_the_header_says),
        cmocka_unit_test(sframe_skips_a_header_extension),
        cmocka_unit_test(sframe_refuses_kinds_it_does_not_know),
        cmocka_unit_test(sframe_refuses_an_order_its_architecture_has_not),
        cmocka_unit_test(sframe_believes_no_count_its_bytes_cannot_hold),
        cmocka_unit_test(sframe_refuses_rows_that_begin_among_the_functions),
        cmocka_unit_test(sframe_counts_starts_from_their_fields_when_flagged),
        cmocka_unit_test(sframe_finds_the_function_that_covers_an_address),
        cmocka_unit_test(sframe_finds_each_function_among_any_number_of_them),
        cmocka_unit_test(sframe_steps_over_functions_without_code),
        cmocka_unit_test(sframe_looks_through_functions_that_are_not_sorted),
        cmocka_unit_test(sframe_mistrusts_old_sections_that_are_not_sorted),
        cmocka_unit_test(sframe_refuses_function_kinds_it_does_not_know),
        cmocka_unit_test(sframe_refuses_blocks_of_no_size),
        cmocka_unit_test(sframe_gives_the_range_a_row_holds_for_in_its_block),
        cmocka_unit_test(sframe_passes_over_the_plt_row_that_gnu_ld_gets_wrong),
        cmocka_unit_test(sframe_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/sframe", tests, NULL, NULL);
}
