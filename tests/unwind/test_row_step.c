// SPDX-License-Identifier: Apache-2.0
//
// Every kind of rule, on amd64, aarch64 and s390x.
#include "unwind/row_step.h"

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
    };
    return cmocka_run_group_tests_name("unwind/row_step", tests, NULL, NULL);
}
