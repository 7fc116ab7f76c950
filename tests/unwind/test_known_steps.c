// SPDX-License-Identifier: Apache-2.0
//
// Steps that are repeated: they do what the row does that they were made of, and where
// they cannot, they change nothing.
#include "unwind/known_steps.h"

#include <stdlib.h>

#include "support/fake_memory.h"
#include "support/test.h"
#include "unwind/row_step.h"

enum { SP = 0x10000, WORDS = 64, PC = 0x401234, RBX = 3, R12 = 12, CALLER = 0x405678 };

// A stage is a stack in a window, and a table that knows a step from PC and one from
// CALLER.
struct stage {
    uint64_t stack[WORDS];
    struct memory_window window;
    struct fake_region region;
    struct fake_memory memory;
    struct memory_reader reader;
    struct known_steps *steps;
    struct unwind_row row;
    struct unwind_state state;
};

// last_steps is the table of the stage that was set last.
static struct known_steps *last_steps;

static int free_last_steps(void **state)
{
    (void)state;
    free(last_steps);
    last_steps = NULL;
    return 0;
}

static struct unwind_rule rule(enum unwind_rule_kind kind, uint16_t reg, int64_t offset)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind, .reg = reg, .offset = offset };
}

// set_stage makes a frame of 8 words with rbx, r12 and rbp saved, and its state.
static void set_stage(struct stage *s)
{
    free(last_steps);
    *s = (struct stage){ .state = { .known = UINT64_MAX & ~(UINT64_C(1) << 13),
                                    .kept = UINT64_MAX } };
    for (size_t i = 0; i < WORDS; i++)
        s->stack[i] = 0x7000 + i;
    s->stack[7] = CALLER;
    s->window =
        (struct memory_window){ (const uint8_t *)s->stack, SP, sizeof(s->stack) };
    s->region = (struct fake_region){ SP, s->stack, sizeof(s->stack) };
    s->memory = (struct fake_memory){ &s->region, 1, 0 };
    s->reader = fake_memory_reader(&s->memory);
    s->reader.window = &s->window;
    s->row = (struct unwind_row){ .cfa = rule(UNWIND_REGISTER_PLUS, 7, 64),
                                  .ra = rule(UNWIND_AT_CFA, 0, -8),
                                  .fp = rule(UNWIND_AT_CFA, 0, -16),
                                  .other_count = 2 };
    s->row.others[0] =
        (struct unwind_register_rule){ RBX, rule(UNWIND_AT_CFA, 0, -32) };
    s->row.others[1] =
        (struct unwind_register_rule){ R12, rule(UNWIND_AT_CFA, 0, -24) };
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        s->state.registers.value[i] = 0x9000 + i;
    s->state.registers.value[7] = SP;
    s->state.registers.value[16] = PC;
    s->steps = last_steps = known_steps_create(&unwind_arch_amd64, &s->reader);
    assert_non_null(s->steps);
}

// know_steps adds the step from PC by the stage's row, and one from CALLER.
static void know_steps(struct stage *s, enum unwind_trust trust)
{
    known_steps_add(s->steps, SETTING_UNWIND_AUTO, PC, &s->row, trust);
    known_steps_add(s->steps, SETTING_UNWIND_AUTO, CALLER, &s->row, trust);
}

// repeat makes one step, if it can.
static bool repeat(struct stage *s, enum unwind_trust *out)
{
    struct unwind_frame frame;
    size_t made =
        known_steps_repeat(s->steps, SETTING_UNWIND_AUTO, &s->state, &frame, 1);
    if (made == 0)
        return false;
    assert_int_equal(made, 1);
    assert_int_equal(frame.address, s->state.registers.value[16]);
    assert_int_equal(frame.kind, UNWIND_KIND_RA);
    *out = frame.trust;
    return true;
}

// assert_same_step asserts that a repeated step and the row's lead to the same state.
static void assert_same_step(struct stage *s, enum unwind_trust trust)
{
    struct unwind_state by_row = s->state;
    enum unwind_trust found = UNWIND_TRUST_SCAN;
    const struct row_step step = { .arch = &unwind_arch_amd64,
                                   .memory = &s->reader,
                                   .row = &s->row,
                                   .only_tracks = trust == UNWIND_TRUST_SFRAME };
    know_steps(s, trust);
    assert_int_equal(row_step(&step, &by_row), CH_OK);
    assert_true(repeat(s, &found));
    assert_int_equal(found, trust);
    assert_int_equal(s->state.known, by_row.known);
    assert_int_equal(s->state.kept, by_row.kept);
    assert_memory_equal(&s->state.registers, &by_row.registers,
                        sizeof(by_row.registers));
}

// assert_no_step asserts that the step cannot be repeated, and that nothing changed.
static void assert_no_step(struct stage *s)
{
    struct unwind_state before = s->state;
    enum unwind_trust trust;
    assert_false(repeat(s, &trust));
    assert_memory_equal(&s->state, &before, sizeof(before));
}

static void repeated_step_recovers_what_its_row_does(void **state)
{
    (void)state;
    struct stage s;
    set_stage(&s);
    assert_same_step(&s, UNWIND_TRUST_CFI);
    assert_int_equal(s.state.registers.value[16], CALLER);
    assert_int_equal(s.state.registers.value[7], SP + 64);
    assert_int_equal(s.state.registers.value[RBX], 0x7004);
}

static void
repeated_step_keeps_a_frame_pointer_that_the_frame_did_not_save(void **state)
{
    (void)state;
    struct stage s;
    for (unsigned known = 0; known < 2; known++) {
        set_stage(&s);
        s.row.fp = rule(UNWIND_SAME, 0, 0);
        if (!known)
            unwind_state_forget(&s.state, 6);
        assert_same_step(&s, UNWIND_TRUST_CFI);
    }
}

static void repeated_step_goes_by_the_frame_pointer(void **state)
{
    (void)state;
    struct stage s;
    set_stage(&s);
    s.row.cfa = rule(UNWIND_REGISTER_PLUS, 6, 16);
    s.state.registers.value[6] = SP + 48;
    assert_same_step(&s, UNWIND_TRUST_CFI);
}

static void repeated_step_by_sframe_leaves_three_registers_known(void **state)
{
    (void)state;
    struct stage s;
    for (unsigned saved = 0; saved < 2; saved++) {
        set_stage(&s);
        s.row.other_count = 0;
        if (!saved)
            s.row.fp = rule(UNWIND_SAME, 0, 0);
        assert_same_step(&s, UNWIND_TRUST_SFRAME);
    }
}

static void step_is_repeated_for_its_address_and_its_method_alone(void **state)
{
    (void)state;
    struct stage s;
    struct unwind_frame frame;
    set_stage(&s);
    know_steps(&s, UNWIND_TRUST_CFI);
    assert_int_equal(
        known_steps_repeat(s.steps, SETTING_UNWIND_PRECISE, &s.state, &frame, 1), 0);
    s.state.registers.value[16] = PC + 1;
    assert_no_step(&s);
}

static void step_is_repeated_only_to_where_the_next_is_known(void **state)
{
    (void)state;
    static const uint64_t callers[] = { 0, 1, CALLER + 1 };
    struct stage s;
    for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
        set_stage(&s);
        know_steps(&s, UNWIND_TRUST_CFI);
        s.stack[7] = callers[i];
        assert_no_step(&s);
    }
}

static void step_is_repeated_only_outward_and_aligned(void **state)
{
    (void)state;
    static const uint64_t caller = CALLER;
    struct stage s;
    set_stage(&s);
    s.row.cfa.offset = 60;
    memcpy((char *)s.stack + 52, &caller, sizeof(caller));
    know_steps(&s, UNWIND_TRUST_CFI);
    assert_no_step(&s);
    set_stage(&s);
    s.row.cfa = rule(UNWIND_REGISTER_PLUS, 6, 16);
    s.state.registers.value[6] = SP + 48;
    s.state.registers.value[7] = SP + 64; // where the CFA is
    know_steps(&s, UNWIND_TRUST_CFI);
    assert_no_step(&s);
}

static void step_is_repeated_only_from_what_the_window_holds(void **state)
{
    (void)state;
    struct stage s;
    set_stage(&s);
    know_steps(&s, UNWIND_TRUST_CFI);
    s.window.size = 63; // one byte too few for the return address
    assert_no_step(&s);
    s.window = (struct memory_window){ (const uint8_t *)(s.stack + 5), SP + 40, 400 };
    assert_no_step(&s); // rbx lies before it
    s.window = (struct memory_window){ 0 };
    assert_no_step(&s);
    s.reader.window = NULL;
    assert_null(known_steps_create(&unwind_arch_amd64, &s.reader));
}

static void step_is_repeated_only_where_its_register_is_known(void **state)
{
    (void)state;
    struct stage s;
    set_stage(&s);
    s.row.cfa = rule(UNWIND_REGISTER_PLUS, RBX, 64);
    s.state.registers.value[RBX] = SP;
    know_steps(&s, UNWIND_TRUST_CFI);
    unwind_state_forget(&s.state, RBX);
    assert_no_step(&s);
}

// set_frames makes the stack one of 8 frames of 8 words, whose return addresses are
// callers[0] to callers[7].
static void set_frames(struct stage *s, const uint64_t callers[8])
{
    set_stage(s);
    for (size_t i = 0; i < 8; i++)
        s->stack[i * 8 + 7] = callers[i];
}

static void steps_follow_one_another_until_one_is_not_known(void **state)
{
    (void)state;
    static const uint64_t callers[8] = { CALLER, PC,         PC, CALLER,
                                         CALLER, CALLER + 1, PC, PC };
    struct stage s;
    struct unwind_frame frames[8];
    set_frames(&s, callers);
    know_steps(&s, UNWIND_TRUST_CFI);
    // The second time each step has one that followed it.
    for (int turn = 0; turn < 2; turn++) {
        s.state.registers.value[7] = SP;
        s.state.registers.value[16] = PC;
        assert_int_equal(
            known_steps_repeat(s.steps, SETTING_UNWIND_AUTO, &s.state, frames, 8), 5);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(frames[i].address, callers[i]);
        assert_int_equal(s.state.registers.value[16], CALLER);
        assert_int_equal(s.state.registers.value[7], SP + 5 * 64);
        assert_int_equal(s.state.registers.value[RBX], s.stack[4 * 8 + 4]);
    }
}

static void steps_fill_the_room_and_no_more(void **state)
{
    (void)state;
    static const uint64_t callers[8] = { PC, PC, PC, PC, PC, PC, PC, PC };
    struct stage s;
    struct unwind_frame frames[8];
    for (size_t room = 0; room < 8; room++) {
        set_frames(&s, callers);
        know_steps(&s, UNWIND_TRUST_CFI);
        assert_int_equal(
            known_steps_repeat(s.steps, SETTING_UNWIND_AUTO, &s.state, frames, room),
            room);
        assert_int_equal(s.state.registers.value[7], SP + room * 64);
    }
}

// Three frames in one call, and one by one: the states are the same.
static void steps_in_one_call_are_those_of_single_calls(void **state)
{
    (void)state;
    static const uint64_t callers[8] = { CALLER, PC, CALLER, PC };
    static const enum unwind_trust trusts[] = { UNWIND_TRUST_CFI, UNWIND_TRUST_SFRAME };
    struct stage s;
    struct unwind_frame frames[3];
    for (size_t i = 0; i < sizeof(trusts) / sizeof(trusts[0]); i++) {
        set_frames(&s, callers);
        s.row.other_count = trusts[i] == UNWIND_TRUST_CFI ? 2 : 0;
        know_steps(&s, trusts[i]);
        struct unwind_state before = s.state;
        enum unwind_trust found;
        for (size_t j = 0; j < 3; j++)
            assert_true(repeat(&s, &found));
        assert_int_equal(
            known_steps_repeat(s.steps, SETTING_UNWIND_AUTO, &before, frames, 3), 3);
        assert_memory_equal(&before, &s.state, sizeof(before));
    }
}

static void step_that_was_replaced_does_not_follow_any_more(void **state)
{
    (void)state;
    static const uint64_t callers[8] = { CALLER, PC };
    struct stage s;
    enum unwind_trust trust;
    set_frames(&s, callers);
    know_steps(&s, UNWIND_TRUST_CFI);
    assert_true(repeat(&s, &trust));
    // An address with CALLER's place in the table takes it.
    uint64_t other = CALLER;
    do
        other++;
    while (other * UINT64_C(0x9e3779b97f4a7c15) >> 56 !=
           CALLER * UINT64_C(0x9e3779b97f4a7c15) >> 56);
    known_steps_add(s.steps, SETTING_UNWIND_AUTO, other, &s.row, UNWIND_TRUST_CFI);
    s.state.registers.value[7] = SP;
    s.state.registers.value[16] = PC;
    assert_no_step(&s);
}

// A change of the stage's row that makes its step depend on more than the stack.
typedef void change_fn(struct unwind_row *row);

static void change_to_signal(struct unwind_row *row)
{
    row->flags = UNWIND_SIGNAL_FRAME;
}

static void change_to_word_at_register(struct unwind_row *row)
{
    row->cfa = rule(UNWIND_AT_REGISTER, 7, 64);
}

static void change_return_place(struct unwind_row *row)
{
    row->ra.offset = -16;
}

static void change_return_to_same(struct unwind_row *row)
{
    row->ra = rule(UNWIND_SAME, 0, 0);
}

static void change_frame_pointer(struct unwind_row *row)
{
    row->fp = rule(UNWIND_UNDEFINED, 0, 0);
}

static void change_saved_above(struct unwind_row *row)
{
    row->others[0].rule.offset = 8;
}

static void change_saved_far_below(struct unwind_row *row)
{
    row->others[0].rule.offset = -8 * (KNOWN_STEP_WORDS + 1);
}

static void change_saved_stack_pointer(struct unwind_row *row)
{
    row->others[0].reg = 7;
}

static void change_saved_by_register(struct unwind_row *row)
{
    row->others[1].rule = rule(UNWIND_AT_REGISTER, 6, -8);
}

static void change_end(struct unwind_row *row)
{
    row->end = PC;
}

static void step_that_depends_on_more_than_the_stack_is_not_kept(void **state)
{
    (void)state;
    static change_fn *const changes[] = {
        change_to_signal,           change_to_word_at_register,
        change_return_place,        change_return_to_same,
        change_frame_pointer,       change_saved_above,
        change_saved_far_below,     change_saved_by_register,
        change_saved_stack_pointer, change_end,
    };
    struct stage s;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        set_stage(&s);
        known_steps_add(s.steps, SETTING_UNWIND_AUTO, CALLER, &s.row, UNWIND_TRUST_CFI);
        changes[i](&s.row);
        known_steps_add(s.steps, SETTING_UNWIND_AUTO, PC, &s.row, UNWIND_TRUST_CFI);
        assert_no_step(&s);
    }
}

static void nothing_is_repeated_where_words_differ_from_ours(void **state)
{
    (void)state;
    static const struct unwind_arch *const others[] = { &unwind_arch_aarch64,
                                                        &unwind_arch_s390x,
                                                        &unwind_arch_i386 };
    struct stage s;
    for (size_t i = 0; i < 4; i++) {
        set_stage(&s);
        s.reader.big_endian = i == 3;
        assert_null(
            known_steps_create(i < 3 ? others[i] : &unwind_arch_amd64, &s.reader));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_step_recovers_what_its_row_does),
        cmocka_unit_test(
            repeated_step_keeps_a_frame_pointer_that_the_frame_did_not_save),
        cmocka_unit_test(repeated_step_goes_by_the_frame_pointer),
        cmocka_unit_test(repeated_step_by_sframe_leaves_three_registers_known),
        cmocka_unit_test(step_is_repeated_for_its_address_and_its_method_alone),
        cmocka_unit_test(step_is_repeated_only_to_where_the_next_is_known),
        cmocka_unit_test(step_is_repeated_only_outward_and_aligned),
        cmocka_unit_test(step_is_repeated_only_from_what_the_window_holds),
        cmocka_unit_test(step_is_repeated_only_where_its_register_is_known),
        cmocka_unit_test(steps_follow_one_another_until_one_is_not_known),
        cmocka_unit_test(steps_fill_the_room_and_no_more),
        cmocka_unit_test(steps_in_one_call_are_those_of_single_calls),
        cmocka_unit_test(step_that_was_replaced_does_not_follow_any_more),
        cmocka_unit_test(step_that_depends_on_more_than_the_stack_is_not_kept),
        cmocka_unit_test(nothing_is_repeated_where_words_differ_from_ours),
    };
    return cmocka_run_group_tests_name("unwind/known_steps", tests, NULL,
                                       free_last_steps);
}
