// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/cfi.h"

#include "support/bytes.h"
#include "support/cfi_builder.h"
#include "support/test.h"

enum { CODE = 0x401000, CODE_SIZE = 0x100, SECTION = 0x700000 };

static const struct cfi_processor amd64 = { .register_count = 17, .fp = 6 };
static const struct cfi_processor aarch64 = { .register_count = 32,
                                              .fp = 29,
                                              .signs_returns = true };

static struct cfi_section eh_frame = { .kind = CFI_EH_FRAME, .address = SECTION };

// read_both reads the CIE at 0 and the FDE after it.
static enum ch_status read_both(const struct cfi_section *section, struct cursor c,
                                struct cfi_cie *cie, struct cfi_fde *fde)
{
    struct cfi_entry entry;
    enum ch_status status = cfi_next_entry(section, &c, section->address, &entry);
    if (status == CH_OK)
        status = cfi_read_cie(section, &entry, cie);
    if (status != CH_OK)
        return status;
    uint64_t address = section->address + cursor_offset(&c);
    status = cfi_next_entry(section, &c, address, &entry);
    if (status == CH_OK && entry.cie != section->address)
        return CH_ERR_MALFORMED;
    return status == CH_OK ? cfi_read_fde(section, &entry, cie, fde) : status;
}

static enum ch_status row_in(const struct cfi_builder *b, uint64_t pc,
                             const struct cfi_processor *processor,
                             struct unwind_row *out)
{
    struct cfi_cie cie;
    struct cfi_fde fde;
    enum ch_status status =
        read_both(&eh_frame, cursor_over(b->bytes, b->size), &cie, &fde);
    if (status != CH_OK)
        return status;
    return cfi_find_row(&eh_frame, processor, &cie, &fde, pc, out);
}

// row_of gives the row at CODE + offset by these instructions.
static enum ch_status row_of(const uint8_t *instructions, size_t size, uint64_t offset,
                             struct unwind_row *out)
{
    // The row may point to expressions in it.
    static struct cfi_builder b;
    b.size = 0;
    cfi_cie(&b, "", NULL, 0);
    cfi_fde(&b, 0, CODE, CODE_SIZE, instructions, size);
    return row_in(&b, CODE + offset, &amd64, out);
}

#define ROW(row, offset, ...)                                                          \
    assert_int_equal(row_of((const uint8_t[]){ __VA_ARGS__ },                          \
                            sizeof((const uint8_t[]){ __VA_ARGS__ }), offset, &(row)), \
                     CH_OK)

#define REFUSED(status, ...)                                                           \
    do {                                                                               \
        struct unwind_row refused;                                                     \
        assert_int_equal(row_of((const uint8_t[]){ __VA_ARGS__ },                      \
                                sizeof((const uint8_t[]){ __VA_ARGS__ }), 0x80,        \
                                &refused),                                             \
                         status);                                                      \
    } while (0)

static void cfi_starts_from_the_rules_of_the_cie(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0, 0);
    assert_int_equal(row.cfa.kind, UNWIND_REGISTER_PLUS);
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.offset, 8);
    assert_int_equal(row.ra.kind, UNWIND_AT_CFA);
    assert_int_equal(row.ra.offset, -8);
    assert_int_equal(row.fp.kind, UNWIND_SAME);
    assert_int_equal(row.other_count, 0);
}

static void cfi_row_holds_between_two_advances(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 3, 0x41, 0x0e, 16, 0x86, 2, 0x02, 3, 0x0e, 32);
    assert_int_equal(row.start, CODE + 1);
    assert_int_equal(row.end, CODE + 4);
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(row.fp.kind, UNWIND_AT_CFA);
    assert_int_equal(row.fp.offset, -16);
    ROW(row, 4, 0x41, 0x0e, 16, 0x86, 2, 0x02, 3, 0x0e, 32);
    assert_int_equal(row.cfa.offset, 32);
    assert_int_equal(row.end, CODE + CODE_SIZE);
}

static void cfi_advances_by_every_size(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x03, 0x10, 0, 0x04, 0x10, 0, 0, 0, 0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0,
        0x0e, 24);
    assert_int_equal(row.start, CODE + 0x30);
    assert_int_equal(row.cfa.offset, 24);
    ROW(row, 0x80, 0x01, 0x20, 0x10, 0x40, 0, 0, 0, 0, 0, 0x0e, 40);
    assert_int_equal(row.start, CODE + 0x20);
    assert_int_equal(row.cfa.offset, 40);
}

static void cfi_restores_what_was_remembered_and_the_cfa_with_it(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x0e, 16, 0x83, 2, 0x0a, 0x0e, 8, 0xc3, 0x41, 0x0b);
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(row.other_count, 1);
    assert_int_equal(row.others[0].reg, 3);
    assert_int_equal(row.others[0].rule.offset, -16);
}

static void cfi_restore_goes_back_to_the_cie(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x05, 16, 4, 0xd0);
    assert_int_equal(row.ra.offset, -8);
    ROW(row, 0x80, 0x86, 2, 0x06, 6);
    assert_int_equal(row.fp.kind, UNWIND_SAME);
}

static void cfi_knows_every_kind_of_register_rule(void **state)
{
    (void)state;
    struct unwind_row row;
    // rbx at cfa-16 extended, r12 signed at cfa+8, r13 undefined, r14 in rax, r15 =
    // cfa-24
    ROW(row, 0x80, 0x05, 3, 2, 0x11, 12, 0x7f, 0x07, 13, 0x09, 14, 0, 0x14, 15, 3, 0x2e,
        5);
    assert_int_equal(row.other_count, 5);
    assert_int_equal(row.others[0].rule.offset, -16);
    assert_int_equal(row.others[1].rule.offset, 8);
    assert_int_equal(row.others[2].rule.kind, UNWIND_UNDEFINED);
    assert_int_equal(row.others[3].rule.kind, UNWIND_REGISTER_PLUS);
    assert_int_equal(row.others[3].rule.reg, 0);
    assert_int_equal(row.others[4].rule.kind, UNWIND_CFA_PLUS);
    assert_int_equal(row.others[4].rule.offset, -24);
    ROW(row, 0x80, 0x15, 3, 2, 0x2f, 12, 2, 0x08, 13);
    assert_int_equal(row.other_count, 2);
    assert_int_equal(row.others[0].rule.kind, UNWIND_CFA_PLUS);
    assert_int_equal(row.others[0].rule.offset, -16);
    assert_int_equal(row.others[1].rule.offset, 16);
}

static void cfi_knows_every_way_to_define_the_cfa(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x0c, 6, 16);
    assert_int_equal(row.cfa.reg, 6);
    ROW(row, 0x80, 0x0d, 10);
    assert_int_equal(row.cfa.reg, 10);
    assert_int_equal(row.cfa.offset, 8);
    ROW(row, 0x80, 0x12, 6, 0x7e);
    assert_int_equal(row.cfa.offset, 16);
    ROW(row, 0x80, 0x13, 0x7d);
    assert_int_equal(row.cfa.offset, 24);
    ROW(row, 0x80, 0x0f, 2, 0x76, 0x78);
    assert_int_equal(row.cfa.kind, UNWIND_EXPRESSION);
    assert_int_equal(row.cfa.expression_size, 2);
    assert_int_equal(row.cfa.expression[0], 0x76);
}

static void cfi_points_to_expressions_of_registers(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x10, 6, 2, 0x76, 0x00, 0x16, 3, 1, 0x30);
    assert_int_equal(row.fp.kind, UNWIND_AT_EXPRESSION);
    assert_int_equal(row.fp.expression_size, 2);
    assert_int_equal(row.others[0].rule.kind, UNWIND_EXPRESSION);
    assert_int_equal(row.others[0].rule.expression[0], 0x30);
}

static void cfi_undefined_return_address_is_the_outermost_frame(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x07, 16);
    assert_true(row.flags & UNWIND_OUTERMOST);
    ROW(row, 0x80, 0);
    assert_false(row.flags & UNWIND_OUTERMOST);
}

static void cfi_drops_rules_of_registers_nobody_tracks(void **state)
{
    (void)state;
    struct unwind_row row;
    ROW(row, 0x80, 0x91, 4, 0x05, 0xe7, 0x07, 4);
    assert_int_equal(row.other_count, 0);
}

static void cfi_toggles_the_signing_of_return_addresses_on_aarch64_alone(void **state)
{
    (void)state;
    static const uint8_t toggle[] = { 0x2d, 0x41, 0x2d };
    struct cfi_builder b = { 0 };
    struct unwind_row row;
    cfi_cie(&b, "", NULL, 0);
    cfi_fde(&b, 0, CODE, CODE_SIZE, toggle, sizeof(toggle));
    assert_int_equal(row_in(&b, CODE, &aarch64, &row), CH_OK);
    assert_true(row.flags & UNWIND_RA_MANGLED);
    assert_int_equal(row_in(&b, CODE + 1, &aarch64, &row), CH_OK);
    assert_false(row.flags & UNWIND_RA_MANGLED);
    assert_int_equal(row_in(&b, CODE, &amd64, &row), CH_ERR_UNSUPPORTED);
}

static void cfi_finds_a_return_address_in_another_register_of_aarch64(void **state)
{
    (void)state;
    enum { SAID = 16 }; // by the CIE
    static const uint8_t same[] = { 0x08, SAID };
    static const uint8_t saved[] = { 0x80 | SAID, 2 };
    struct cfi_builder b = { 0 };
    struct unwind_row row;
    cfi_cie(&b, "", NULL, 0);
    cfi_fde(&b, 0, CODE, CODE_SIZE, same, sizeof(same));
    assert_int_equal(row_in(&b, CODE, &aarch64, &row), CH_OK);
    assert_int_equal(row.ra.kind, UNWIND_REGISTER_PLUS);
    assert_int_equal(row.ra.reg, SAID);
    assert_int_equal(row.ra.offset, 0);
    b.size = 0;
    cfi_cie(&b, "", NULL, 0);
    cfi_fde(&b, 0, CODE, CODE_SIZE, saved, sizeof(saved));
    assert_int_equal(row_in(&b, CODE, &aarch64, &row), CH_OK);
    assert_int_equal(row.ra.kind, UNWIND_AT_CFA);
}

static void cfi_refuses_programs_that_make_no_sense(void **state)
{
    (void)state;
    REFUSED(CH_ERR_MALFORMED, 0x0b);                   // nothing remembered
    REFUSED(CH_ERR_UNSUPPORTED, 0x3f);                 // no such operation
    REFUSED(CH_ERR_TRUNCATED, 0x0c, 7);                // cut off
    REFUSED(CH_ERR_TRUNCATED, 0x0f, 9, 0);             // longer than the entry
    REFUSED(CH_ERR_MALFORMED, 0x0f, 1, 0x30, 0x0d, 6); // no register to replace
    REFUSED(CH_ERR_MALFORMED, 0x41, 0x01, 0, 0, 0, 0, 0, 0, 0, 0); // backward
    REFUSED(CH_ERR_LIMIT, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
            0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
}

static void cfi_has_no_row_outside_its_code(void **state)
{
    (void)state;
    struct unwind_row row;
    static const uint8_t nothing[] = { 0 };
    assert_int_equal(row_of(nothing, 1, CODE_SIZE, &row), CH_ERR_NOT_FOUND);
    assert_int_equal(row_of(nothing, 1, (uint64_t)-1, &row), CH_ERR_NOT_FOUND);
}

static void cfi_reads_augmentations(void **state)
{
    (void)state;
    // A personality of four bytes, an LSDA, a signal frame, key B, PC-relative 4 bytes.
    static const uint8_t data[] = { 0x1b, 0x03, 1, 2, 3, 4, 0x1b };
    struct cfi_builder b = { 0 };
    struct cfi_cie cie;
    struct cfi_fde fde;
    cfi_cie(&b, "zRPLSB", data, sizeof(data));
    size_t fde_at = b.size;
    cfi_open(&b, (uint32_t)(fde_at + 4));
    cfi_put_u32(&b, (uint32_t)(CODE - (SECTION + fde_at + 8)));
    cfi_put_u32(&b, CODE_SIZE);
    cfi_put_u8(&b, 2);
    cfi_put_u8(&b, 0xaa);
    cfi_put_u8(&b, 0xbb);
    cfi_put_u8(&b, 0x41);
    cfi_close(&b);
    assert_int_equal(read_both(&eh_frame, cursor_over(b.bytes, b.size), &cie, &fde),
                     CH_OK);
    assert_true(cie.signal);
    assert_true(cie.key_b);
    assert_int_equal(fde.start, CODE);
    assert_int_equal(fde.end, CODE + CODE_SIZE);
    assert_int_equal(cursor_left(&fde.instructions), 1);
}

static void cfi_reads_debug_frame_with_its_own_ids_and_the_bias(void **state)
{
    (void)state;
    static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
    const struct cfi_section section = { .kind = CFI_DEBUG_FRAME, .bias = 0x10000 };
    struct cfi_builder b = { 0 };
    struct cfi_cie cie;
    struct cfi_fde fde;
    cfi_open(&b, UINT32_MAX);
    cfi_put(&b, "\x04\0\x08\0\x01\x78\x10", 7); // version 4: address and segment sizes
    cfi_put(&b, initial, sizeof(initial));
    cfi_close(&b);
    cfi_open(&b, 0);
    cfi_put_u64(&b, CODE);
    cfi_put_u64(&b, CODE_SIZE);
    cfi_close(&b);
    assert_int_equal(read_both(&section, cursor_over(b.bytes, b.size), &cie, &fde),
                     CH_OK);
    assert_int_equal(fde.start, CODE + 0x10000);
}

static void cfi_ends_at_a_length_of_zero(void **state)
{
    (void)state;
    static const uint8_t end[] = { 0, 0, 0, 0 };
    struct cursor c = cursor_over(end, sizeof(end));
    struct cfi_entry entry;
    uint64_t size;
    assert_int_equal(cfi_entry_size(c, &size), CH_END);
    assert_int_equal(cfi_next_entry(&eh_frame, &c, SECTION, &entry), CH_END);
}

static void cfi_reads_entries_with_64_bit_lengths(void **state)
{
    (void)state;
    struct cfi_builder b = { 0 };
    struct cfi_entry entry;
    uint64_t size;
    cfi_put_u32(&b, UINT32_MAX);
    cfi_put_u64(&b, 12);
    cfi_put_u64(&b, 0);
    cfi_put_u32(&b, 7);
    struct cursor c = cursor_over(b.bytes, b.size);
    assert_int_equal(cfi_entry_size(c, &size), CH_OK);
    assert_int_equal(size, b.size);
    assert_int_equal(cfi_next_entry(&eh_frame, &c, SECTION, &entry), CH_OK);
    assert_true(entry.is_cie);
    assert_int_equal(cursor_left(&entry.body), 4);
}

static uint64_t pointer(uint8_t encoding, const void *bytes, size_t size)
{
    const struct cfi_bases bases = { .text = 0x1000,
                                     .data = 0x2000,
                                     .function = 0x3000 };
    struct cursor c = cursor_over(bytes, size);
    uint64_t value = 0;
    assert_int_equal(cfi_read_pointer(&c, 0x500, encoding, &bases, &value), CH_OK);
    return value;
}

static void cfi_reads_pointers_in_every_encoding(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f };
    assert_int_equal(pointer(0x00, bytes, 8), 0x7ffffffffffffffe);
    assert_int_equal(pointer(0x01, (const uint8_t[]){ 0xfe, 0x01 }, 2), 0xfe);
    assert_int_equal(pointer(0x09, (const uint8_t[]){ 0x7e }, 1), UINT64_MAX - 1);
    assert_int_equal(pointer(0x02, bytes, 2), 0xfffe);
    assert_int_equal(pointer(0x03, bytes, 4), 0xfffffffe);
    assert_int_equal(pointer(0x04, bytes, 8), 0x7ffffffffffffffe);
    assert_int_equal(pointer(0x0a, bytes, 2), UINT64_MAX - 1);
    assert_int_equal(pointer(0x0b, bytes, 4), UINT64_MAX - 1);
    assert_int_equal(pointer(0x0c, bytes, 8), 0x7ffffffffffffffe);
    assert_int_equal(pointer(0x1b, bytes, 4), 0x4fe);
    assert_int_equal(pointer(0x2b, bytes, 4), 0xffe);
    assert_int_equal(pointer(0x3b, bytes, 4), 0x1ffe);
    assert_int_equal(pointer(0x4b, bytes, 4), 0x2ffe);
    assert_int_equal(pointer(0x50, bytes, 8), 0x7ffffffffffffffe);
}

static void cfi_refuses_pointers_that_lie_elsewhere(void **state)
{
    (void)state;
    const struct cfi_bases bases = { 0 };
    static const uint8_t bytes[8] = { 0 };
    uint64_t value;
    for (unsigned encoding = 0x80; encoding <= 0xff; encoding++) {
        struct cursor c = cursor_over(bytes, sizeof(bytes));
        assert_int_equal(cfi_read_pointer(&c, 0, (uint8_t)encoding, &bases, &value),
                         CH_ERR_UNSUPPORTED);
    }
}

static void cfi_reads_the_header_and_its_table(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 0x1b, 0x03, 0x3b, 0xfc, 0x0f, 0, 0, 1, 0,
                                     0, 0,    0xf0, 0xff, 0xff, 0xff, 8, 0, 0, 0 };
    struct cfi_header header;
    struct cfi_header_entry entry;
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    assert_int_equal(cfi_read_header(c, 0x5000, sizeof(bytes), &header), CH_OK);
    assert_int_equal(header.eh_frame, 0x6000);
    assert_int_equal(header.count, 1);
    assert_int_equal(header.entry_size, 8);
    assert_int_equal(header.table, 0x500c);
    cursor_skip(&c, 12);
    assert_int_equal(cfi_read_header_entry(&header, c, header.table, &entry), CH_OK);
    assert_int_equal(entry.start, 0x4ff0);
    assert_int_equal(entry.fde, 0x5008);
}

static void cfi_refuses_a_header_that_counts_more_than_it_has(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0 };
    struct cfi_header header;
    assert_int_equal(cfi_read_header(cursor_over(bytes, sizeof(bytes)), 0, 20, &header),
                     CH_ERR_MALFORMED);
}

static void cfi_header_may_come_without_a_table(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 0x1b, 0xff, 0xff, 0xfc, 0x0f, 0, 0 };
    struct cfi_header header;
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    assert_int_equal(cfi_read_header(c, 0x5000, sizeof(bytes), &header), CH_OK);
    assert_int_equal(header.eh_frame, 0x6000);
    assert_int_equal(header.count, 0);
}

// walk_all reads whatever there is to read in bytes, as an indexer would.
static int walk_all(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct cursor c = cursor_over(bytes, size);
    struct cfi_entry entry;
    struct cfi_cie cie = { 0 };
    struct cfi_fde fde;
    struct unwind_row row;
    bool have_cie = false;
    while (cfi_next_entry(&eh_frame, &c, SECTION + cursor_offset(&c), &entry) ==
           CH_OK) {
        if (entry.is_cie)
            have_cie = cfi_read_cie(&eh_frame, &entry, &cie) == CH_OK;
        else if (have_cie && cfi_read_fde(&eh_frame, &entry, &cie, &fde) == CH_OK)
            (void)!cfi_find_row(&eh_frame, &amd64, &cie, &fde, fde.start + 0x80, &row);
    }
    return 0;
}

static void cfi_survives_every_cut_and_flip(void **state)
{
    (void)state;
    static const uint8_t data[] = { 0x1b };
    static const uint8_t code[] = { 0x41, 0x0e, 16, 0x86, 2,    0x0a, 0x0f, 2,    0x76,
                                    0x78, 0x10, 3,  1,    0x30, 0x44, 0x0b, 0x2e, 1 };
    struct cfi_builder b = { 0 };
    cfi_cie(&b, "", NULL, 0);
    cfi_fde(&b, 0, CODE, CODE_SIZE, code, sizeof(code));
    cfi_cie(&b, "zR", data, sizeof(data));
    assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, walk_all, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, walk_all, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cfi_starts_from_the_rules_of_the_cie),
        cmocka_unit_test(cfi_row_holds_between_two_advances),
        cmocka_unit_test(cfi_advances_by_every_size),
        cmocka_unit_test(cfi_restores_what_was_remembered_and_the_cfa_with_it),
        cmocka_unit_test(cfi_restore_goes_back_to_the_cie),
        cmocka_unit_test(cfi_knows_every_kind_of_register_rule),
        cmocka_unit_test(cfi_knows_every_way_to_define_the_cfa),
        cmocka_unit_test(cfi_points_to_expressions_of_registers),
        cmocka_unit_test(cfi_undefined_return_address_is_the_outermost_frame),
        cmocka_unit_test(cfi_drops_rules_of_registers_nobody_tracks),
        cmocka_unit_test(cfi_toggles_the_signing_of_return_addresses_on_aarch64_alone),
        cmocka_unit_test(cfi_finds_a_return_address_in_another_register_of_aarch64),
        cmocka_unit_test(cfi_refuses_programs_that_make_no_sense),
        cmocka_unit_test(cfi_has_no_row_outside_its_code),
        cmocka_unit_test(cfi_reads_augmentations),
        cmocka_unit_test(cfi_reads_debug_frame_with_its_own_ids_and_the_bias),
        cmocka_unit_test(cfi_ends_at_a_length_of_zero),
        cmocka_unit_test(cfi_reads_entries_with_64_bit_lengths),
        cmocka_unit_test(cfi_reads_pointers_in_every_encoding),
        cmocka_unit_test(cfi_refuses_pointers_that_lie_elsewhere),
        cmocka_unit_test(cfi_reads_the_header_and_its_table),
        cmocka_unit_test(cfi_refuses_a_header_that_counts_more_than_it_has),
        cmocka_unit_test(cfi_header_may_come_without_a_table),
        cmocka_unit_test(cfi_survives_every_cut_and_flip),
    };
    return cmocka_run_group_tests_name("formats/cfi", tests, NULL, NULL);
}
