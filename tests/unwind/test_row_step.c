// SPDX-License-Identifier: Apache-2.0
//
// Every kind of rule, on amd64, aarch64 and s390x.
#include "unwind/row_step.h"

#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"

enum { SP = 0x1000, LR = 30 };

static const uint64_t stack[] = { 0x401111, 0x402222, 0x1100, 0x403333, 0x1008 };
static const struct fake_region regions[] = { { SP, stack, sizeof(stack) } };

static struct unwind_rule rule(enum unwind_rule_kind kind, uint16_t reg, int64_t offset)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind, .reg = reg, .offset = offset };
}

// plain_row: CFA = sp + 16, return address below it, frame pointer untouched.
static struct unwind_row plain_row(const struct unwind_arch *arch)
{
    return (struct unwind_row){ .cfa = rule(UNWIND_REGISTER_PLUS, arch->sp, 16),
                                .ra = rule(UNWIND_AT_CFA, 0, -8),
                                .fp = rule(UNWIND_SAME, 0, 0) };
}

static struct unwind_state start(const struct unwind_arch *arch)
{
    struct unwind_state state = { .known = UINT64_MAX };
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        state.registers.value[i] = 0x9000 + i;
    unwind_state_set(&state, arch->sp, SP);
    unwind_state_set(&state, arch->fp, 0x1018);
    return state;
}

static enum ch_status run(const struct unwind_arch *arch, const struct unwind_row *row,
                          bool only_tracks, struct unwind_state *state)
{
    struct fake_memory memory = { .regions = regions, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    const struct row_step step = { .arch = arch,
                                   .memory = &reader,
                                   .row = row,
                                   .exact = true,
                                   .only_tracks = only_tracks };
    return row_step(&step, state);
}

static void row_step_takes_the_return_address_from_the_stack(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[16], 0x402222);
    assert_int_equal(s.registers.value[7], SP + 16);
    assert_int_equal(s.registers.value[6], 0x1018);
    assert_int_equal(s.registers.value[3], 0x9003);
}

static void row_step_finds_the_cfa_by_every_rule(void **state)
{
    (void)state;
    static const uint8_t expression[] = { 0x77, 16 };
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.cfa = rule(UNWIND_REGISTER_PLUS, 6, 8);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[16], 0x403333);

    s = start(&unwind_arch_amd64);
    row.cfa = rule(UNWIND_AT_REGISTER, 6, 8);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[16], 0x401111);
    assert_int_equal(s.registers.value[7], 0x1008);

    s = start(&unwind_arch_amd64);
    row.cfa = (struct unwind_rule){ .kind = UNWIND_EXPRESSION,
                                    .expression_size = sizeof(expression),
                                    .expression = expression };
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[16], 0x402222);
}

static void row_step_recovers_registers_by_every_rule(void **state)
{
    (void)state;
    static const uint8_t expression[] = { 0x23, 16 }; // CFA + 16
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.fp = rule(UNWIND_AT_CFA, 0, 0);
    row.others[0] = (struct unwind_register_rule){ 3, rule(UNWIND_CFA_PLUS, 0, 4) };
    row.others[1] =
        (struct unwind_register_rule){ 12, rule(UNWIND_REGISTER_PLUS, 0, 0) };
    row.others[2] = (struct unwind_register_rule){ 13, rule(UNWIND_UNDEFINED, 0, 0) };
    row.others[3] = (struct unwind_register_rule){
        14,
        { .kind = UNWIND_EXPRESSION, .expression_size = 2, .expression = expression }
    };
    row.others[4] = (struct unwind_register_rule){ 15, rule(UNWIND_AT_REGISTER, 7, 0) };
    row.other_count = 5;
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[6], 0x1100);
    assert_int_equal(s.registers.value[3], SP + 20);
    assert_int_equal(s.registers.value[12], 0x9000);
    assert_false(unwind_state_knows(&s, 13));
    assert_int_equal(s.registers.value[14], SP + 32);
    assert_int_equal(s.registers.value[15], 0x401111);
}

static void row_step_asks_no_register_that_is_not_known(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.cfa = rule(UNWIND_REGISTER_PLUS, 3, 0);
    unwind_state_forget(&s, 3);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_ERR_UNSUPPORTED);
    row.cfa = rule(UNWIND_REGISTER_PLUS, 77, 0);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_ERR_UNSUPPORTED);
}

static void row_step_by_sframe_knows_only_what_sframe_tracks(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    assert_int_equal(run(&unwind_arch_amd64, &row, true, &s), CH_OK);
    assert_int_equal(s.known, 1u << 16 | 1u << 7 | 1u << 6);
}

static void row_step_is_sure_of_what_calls_keep_and_rules_restore(void **state)
{
    (void)state;
    enum { RAX = 0, RDX = 1, RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    s.kept = UINT64_MAX;
    row.other_count = 2;
    row.others[0] = (struct unwind_register_rule){ RDX, rule(UNWIND_AT_CFA, 0, -16) };
    row.others[1] = (struct unwind_register_rule){ RAX, rule(UNWIND_SAME, 0, 0) };
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    uint64_t sure = unwind_state_sure(&s);
    assert_int_equal(sure & 0x1ffff, 1u << RDX | 1u << RBX | 1u << RBP | 1u << RSP |
                                         0xfu << R12 | 1u << RIP);
    assert_true(unwind_state_knows(&s, RAX)); // but rules may ask for it
}

static void row_step_is_sure_of_all_that_a_signal_interrupted(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_aarch64);
    struct unwind_state s = start(&unwind_arch_aarch64);
    s.kept = UINT64_MAX;
    row.flags = UNWIND_SIGNAL_FRAME;
    assert_int_equal(run(&unwind_arch_aarch64, &row, false, &s), CH_OK);
    assert_int_equal(unwind_state_sure(&s), UINT64_MAX);

    s = start(&unwind_arch_aarch64);
    s.kept = UINT64_MAX;
    row.flags = 0;
    assert_int_equal(run(&unwind_arch_aarch64, &row, false, &s), CH_OK);
    uint64_t kept = UINT64_C(0x7ff) << 19 | UINT64_C(3) << 31; // x19 to x29, sp, pc
    assert_int_equal(unwind_state_sure(&s) & (UINT64_MAX >> 31), kept);
}

static void row_step_lives_with_a_frame_pointer_it_cannot_read(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.fp = rule(UNWIND_AT_CFA, 0, 0x10000);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_false(unwind_state_knows(&s, 6));
}

static void row_step_faults_where_the_return_address_cannot_be_read(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.ra = rule(UNWIND_AT_CFA, 0, 0x10000);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_ERR_FAULT);
}

static void row_step_ends_at_the_outermost_frame(void **state)
{
    (void)state;
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.flags = UNWIND_OUTERMOST;
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_END);
}

static void row_step_takes_a_rule_above_the_frame_for_stale(void **state)
{
    (void)state;
    // rbp = *(rbp), where rbp is the caller's already.
    struct unwind_row row = plain_row(&unwind_arch_amd64);
    struct unwind_state s = start(&unwind_arch_amd64);
    row.fp = rule(UNWIND_AT_REGISTER, 6, 0);
    assert_int_equal(run(&unwind_arch_amd64, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[6], 0x1018);
}

static void row_step_takes_the_link_register_of_a_leaf(void **state)
{
    (void)state;
    const struct unwind_arch *arch = &unwind_arch_aarch64;
    struct unwind_row row = plain_row(arch);
    struct unwind_state s = start(arch);
    row.cfa = rule(UNWIND_REGISTER_PLUS, arch->sp, 0);
    row.ra = rule(UNWIND_SAME, 0, 0);
    assert_int_equal(run(arch, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[32], 0x9000 + LR);
    assert_int_equal(s.registers.value[31], SP);
    // It is spent: a caller that says the same would return to itself for ever.
    assert_int_equal(run(arch, &row, false, &s), CH_ERR_UNSUPPORTED);
}

static void row_step_strips_signatures_from_return_addresses(void **state)
{
    (void)state;
    const struct unwind_arch *arch = &unwind_arch_aarch64;
    struct unwind_row row = plain_row(arch);
    struct unwind_state s = start(arch);
    row.ra = rule(UNWIND_SAME, 0, 0);
    row.flags = UNWIND_RA_MANGLED;
    unwind_state_set(&s, LR, 0x0073000000401234);
    assert_int_equal(run(arch, &row, false, &s), CH_OK);
    assert_int_equal(s.registers.value[32], 0x401234);
}

static void row_step_keeps_the_link_register_over_an_interruption(void **state)
{
    (void)state;
    const struct unwind_arch *arch = &unwind_arch_aarch64;
    struct unwind_row row = plain_row(arch);
    struct unwind_state s = start(arch);
    row.flags = UNWIND_SIGNAL_FRAME;
    assert_int_equal(run(arch, &row, false, &s), CH_OK);
    assert_true(unwind_state_knows(&s, LR));
}

static void row_step_knows_the_space_below_an_s390x_cfa(void **state)
{
    (void)state;
    const struct unwind_arch *arch = &unwind_arch_s390x;
    struct unwind_row row = plain_row(arch);
    struct unwind_state s = start(arch);
    row.cfa = rule(UNWIND_REGISTER_PLUS, arch->sp, 160 + 16);
    row.ra = rule(UNWIND_AT_CFA, 0, -160 - 8);
    row.fp = rule(UNWIND_REGISTER_PLUS, 17, 0); // in a floating point register
    assert_int_equal(run(arch, &row, true, &s), CH_OK);
    assert_int_equal(s.registers.value[15], SP + 16);
    assert_int_equal(s.registers.value[32], 0x402222);
    assert_int_equal(s.registers.value[11], 0x9000 + 17);
}

static void row_step_reads_words_in_the_targets_order(void **state)
{
    (void)state;
    static const uint64_t big[] = { 0, 0x3412400000000000 };
    static const struct fake_region region[] = { { SP, big, sizeof(big) } };
    struct fake_memory memory = { .regions = region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct unwind_row row = plain_row(&unwind_arch_aarch64);
    struct unwind_state s = start(&unwind_arch_aarch64);
    const struct row_step step = { .arch = &unwind_arch_aarch64,
                                   .memory = &reader,
                                   .row = &row };
    reader.big_endian = true;
    assert_int_equal(row_step(&step, &s), CH_OK);
    assert_int_equal(s.registers.value[32], 0x401234);
}

static const uint64_t words[] = { 0x1122334455667788, 42 };
static const struct fake_region expression_regions[] = { { 0x1000, words,
                                                           sizeof(words) } };

static enum ch_status run_expression(const uint8_t *bytes, size_t size,
                                     const uint64_t *first, uint64_t *out)
{
    struct fake_memory memory = { .regions = expression_regions, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct unwind_state state = { 0 };
    const struct dwarf_expression expression = { bytes, size };
    unwind_state_set(&state, 7, 0x1000);
    return dwarf_expression_run(&expression, &reader, &state, first, out);
}

#define GIVES(value, ...)                                                              \
    do {                                                                               \
        const uint8_t code[] = { __VA_ARGS__ };                                        \
        uint64_t result = 0;                                                           \
        assert_int_equal(run_expression(code, sizeof(code), NULL, &result), CH_OK);    \
        assert_int_equal(result, (uint64_t)(value));                                   \
    } while (0)

#define FAILS(status, ...)                                                             \
    do {                                                                               \
        const uint8_t code[] = { __VA_ARGS__ };                                        \
        uint64_t result = 0;                                                           \
        assert_int_equal(run_expression(code, sizeof(code), NULL, &result), status);   \
    } while (0)

static void expression_pushes_constants_of_every_size(void **state)
{
    (void)state;
    GIVES(5, 0x35);
    GIVES(0xff, 0x08, 0xff);
    GIVES(-1, 0x09, 0xff);
    GIVES(0xfffe, 0x0a, 0xfe, 0xff);
    GIVES(-2, 0x0b, 0xfe, 0xff);
    GIVES(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff);
    GIVES(-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
    GIVES(0x0102030405060708, 0x0e, 8, 7, 6, 5, 4, 3, 2, 1);
    GIVES(-2, 0x0f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    GIVES(0x80, 0x10, 0x80, 0x01);
    GIVES(-3, 0x11, 0x7d);
    GIVES(0x10, 0x03, 0x10, 0, 0, 0, 0, 0, 0, 0);
}

static void expression_reads_registers_and_memory(void **state)
{
    (void)state;
    GIVES(0x0ff8, 0x77, 0x78);
    GIVES(0x1001, 0x92, 7, 1);
    GIVES(0x1122334455667788, 0x77, 0, 0x06);
    GIVES(0x7788, 0x77, 0, 0x94, 2);
    GIVES(42, 0x77, 8, 0x06);
}

static void expression_moves_its_stack(void **state)
{
    (void)state;
    GIVES(2, 0x31, 0x32, 0x12, 0x13);
    GIVES(1, 0x31, 0x32, 0x14);
    GIVES(1, 0x31, 0x32, 0x33, 0x15, 2);
    GIVES(1, 0x31, 0x32, 0x16);
    GIVES(2, 0x31, 0x32, 0x33, 0x17);       // 3 1 2
    GIVES(1, 0x31, 0x32, 0x33, 0x17, 0x13); // 3 1
}

static void expression_computes(void **state)
{
    (void)state;
    GIVES(3, 0x09, 0xfd, 0x19);
    GIVES(4, 0x36, 0x3c, 0x1a);
    GIVES(-2, 0x09, 0xfa, 0x33, 0x1b);
    GIVES(-1, 0x31, 0x32, 0x1c);
    GIVES(1, 0x37, 0x33, 0x1d);
    GIVES(21, 0x37, 0x33, 0x1e);
    GIVES(-1, 0x31, 0x1f);
    GIVES(-2, 0x31, 0x20);
    GIVES(7, 0x35, 0x32, 0x21);
    GIVES(7, 0x35, 0x32, 0x22);
    GIVES(0x85, 0x35, 0x23, 0x80, 0x01);
    GIVES(20, 0x35, 0x32, 0x24);
    GIVES(1, 0x35, 0x32, 0x25);
    GIVES(-1, 0x09, 0xfe, 0x31, 0x26);
    GIVES(6, 0x35, 0x33, 0x27);
}

static void expression_shifts_by_more_than_a_word(void **state)
{
    (void)state;
    GIVES(0, 0x31, 0x08, 64, 0x24);
    GIVES(0, 0x31, 0x08, 64, 0x25);
    GIVES(-1, 0x09, 0xfe, 0x08, 200, 0x26);
}

static void expression_compares_signed(void **state)
{
    (void)state;
    GIVES(1, 0x31, 0x31, 0x29);
    GIVES(0, 0x09, 0xff, 0x31, 0x2a);
    GIVES(0, 0x09, 0xff, 0x31, 0x2b);
    GIVES(1, 0x09, 0xff, 0x31, 0x2c);
    GIVES(1, 0x09, 0xff, 0x31, 0x2d);
    GIVES(1, 0x09, 0xff, 0x31, 0x2e);
}

static void expression_branches(void **state)
{
    (void)state;
    GIVES(9, 0x39, 0x31, 0x28, 1, 0, 0x30);
    GIVES(0, 0x39, 0x30, 0x28, 1, 0, 0x30);
    GIVES(9, 0x39, 0x2f, 1, 0, 0x30, 0x96);
}

static void expression_begins_with_what_it_is_given(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x23, 8 };
    const uint64_t cfa = 0x2000;
    uint64_t result;
    assert_int_equal(run_expression(code, sizeof(code), &cfa, &result), CH_OK);
    assert_int_equal(result, 0x2008);
}

static void expression_division_that_overflows_wraps(void **state)
{
    (void)state;
    GIVES(INT64_MIN, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b);
}

static void expression_refuses_what_it_cannot_know(void **state)
{
    (void)state;
    FAILS(CH_ERR_UNSUPPORTED, 0x73, 0);     // rbx is not known
    FAILS(CH_ERR_UNSUPPORTED, 0x92, 99, 0); // there is no such register
    FAILS(CH_ERR_UNSUPPORTED, 0x9c);        // the CFA, inside its own definition
    FAILS(CH_ERR_UNSUPPORTED, 0xff);
    FAILS(CH_ERR_MALFORMED, 0x22);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x15, 1);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x30, 0x1b);
    FAILS(CH_ERR_MALFORMED, 0x31, 0x30, 0x1d);
    FAILS(CH_ERR_MALFORMED, 0x77, 0, 0x94, 9);
    FAILS(CH_ERR_MALFORMED, 0x96); // nothing to give
    FAILS(CH_ERR_MALFORMED, 0x2f, 0xf0, 0xff);
    FAILS(CH_ERR_TRUNCATED, 0x2f, 0x10, 0);
    FAILS(CH_ERR_TRUNCATED, 0x0e, 1);
    FAILS(CH_ERR_FAULT, 0x31, 0x06);
}

static void expression_that_never_ends_is_ended(void **state)
{
    (void)state;
    FAILS(CH_ERR_LIMIT, 0x2f, 0xfd, 0xff);
    FAILS(CH_ERR_LIMIT, 0x31, 0x2f, 0xfc, 0xff);
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    uint64_t result;
    (void)context;
    (void)!run_expression(bytes, size, NULL, &result);
    return 0;
}

static void expression_survives_every_cut_and_flip(void **state)
{
    (void)state;
    // glibc's own, of __restore_rt, and a branch
    static const uint8_t code[] = { 0x77, 0xa0, 0x01, 0x06, 0x12, 0x31, 0x28, 2,
                                    0,    0x23, 8,    0x08, 3,    0x1b, 0x94, 4 };
    assert_int_equal(bytes_cut_everywhere(code, sizeof(code), survive, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(code, sizeof(code), survive, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_step_takes_the_return_address_from_the_stack),
        cmocka_unit_test(row_step_finds_the_cfa_by_every_rule),
        cmocka_unit_test(row_step_recovers_registers_by_every_rule),
        cmocka_unit_test(row_step_asks_no_register_that_is_not_known),
        cmocka_unit_test(row_step_by_sframe_knows_only_what_sframe_tracks),
        cmocka_unit_test(row_step_is_sure_of_what_calls_keep_and_rules_restore),
        cmocka_unit_test(row_step_is_sure_of_all_that_a_signal_interrupted),
        cmocka_unit_test(row_step_lives_with_a_frame_pointer_it_cannot_read),
        cmocka_unit_test(row_step_faults_where_the_return_address_cannot_be_read),
        cmocka_unit_test(row_step_ends_at_the_outermost_frame),
        cmocka_unit_test(row_step_takes_a_rule_above_the_frame_for_stale),
        cmocka_unit_test(row_step_takes_the_link_register_of_a_leaf),
        cmocka_unit_test(row_step_strips_signatures_from_return_addresses),
        cmocka_unit_test(row_step_keeps_the_link_register_over_an_interruption),
        cmocka_unit_test(row_step_knows_the_space_below_an_s390x_cfa),
        cmocka_unit_test(row_step_reads_words_in_the_targets_order),
        cmocka_unit_test(expression_pushes_constants_of_every_size),
        cmocka_unit_test(expression_reads_registers_and_memory),
        cmocka_unit_test(expression_moves_its_stack),
        cmocka_unit_test(expression_computes),
        cmocka_unit_test(expression_shifts_by_more_than_a_word),
        cmocka_unit_test(expression_compares_signed),
        cmocka_unit_test(expression_branches),
        cmocka_unit_test(expression_begins_with_what_it_is_given),
        cmocka_unit_test(expression_division_that_overflows_wraps),
        cmocka_unit_test(expression_refuses_what_it_cannot_know),
        cmocka_unit_test(expression_that_never_ends_is_ended),
        cmocka_unit_test(expression_survives_every_cut_and_flip),
    };
    return cmocka_run_group_tests_name("unwind/row_step", tests, NULL, NULL);
}
