// SPDX-License-Identifier: Apache-2.0
#include "unwind/guess_step.h"

#include "support/fake_memory.h"
#include "support/test.h"
#include "unwind/target.h"

// A frame record at 0x1000: caller's frame pointer 0x1040, return address 0x401234.
static const uint64_t record[] = { 0x1040, 0x401234 };
static const struct fake_region stack[] = { { 0x1000, record, sizeof(record) } };

static enum ch_status step_on(const struct unwind_arch *arch, uint64_t sp, uint64_t fp,
                              struct unwind_state *state)
{
    struct fake_memory memory = { .regions = stack, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    *state = (struct unwind_state){ 0 };
    unwind_state_set(state, arch->pc, 0x400000);
    unwind_state_set(state, arch->sp, sp);
    unwind_state_set(state, arch->fp, fp);
    return fp_step(arch, &reader, state);
}

static enum ch_status step(uint64_t sp, uint64_t fp, struct unwind_state *state)
{
    return step_on(&unwind_arch_amd64, sp, fp, state);
}

static void fp_step_follows_the_frame_record(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0x1000, &caller), CH_OK);
    assert_int_equal(caller.registers.value[unwind_arch_amd64.pc], 0x401234);
    assert_int_equal(caller.registers.value[unwind_arch_amd64.fp], 0x1040);
    assert_int_equal(caller.registers.value[unwind_arch_amd64.sp], 0x1010);
    assert_true(unwind_state_knows(&caller, unwind_arch_amd64.sp));
}

static void fp_step_follows_frame_records_of_other_machines(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step_on(&unwind_arch_aarch64, 0x1000, 0x1000, &caller), CH_OK);
    assert_int_equal(caller.registers.value[32], 0x401234);
    assert_int_equal(caller.registers.value[31], 0x1010);
    assert_false(unwind_state_knows(&caller, 31));
    assert_int_equal(step_on(&unwind_arch_s390x, 0x1000, 0x1000, &caller),
                     CH_ERR_UNSUPPORTED);
}

static void fp_step_keeps_nothing_but_what_the_record_holds(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0x1000, &caller), CH_OK);
    assert_false(unwind_state_knows(&caller, 3));
    assert_true(unwind_state_knows(&caller, unwind_arch_amd64.fp));
}

static void fp_step_ends_at_frame_pointer_zero(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0, &caller), CH_END);
}

static void fp_step_refuses_a_frame_pointer_that_leads_inward(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0x1008, 0x1000, &caller), CH_ERR_MALFORMED);
}

static void fp_step_refuses_a_frame_pointer_that_is_not_aligned(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0x1004, &caller), CH_ERR_MALFORMED);
}

static void fp_step_refuses_a_frame_pointer_far_away(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0x7fff00000000, &caller), CH_ERR_MALFORMED);
}

static void fp_step_faults_where_the_record_cannot_be_read(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step(0xff0, 0x1008, &caller), CH_ERR_FAULT);
}

static const uint8_t outermost[] = { 0x07, 16 };
static struct target target;

// GCC's frames on AArch64 have their record at the low end, so that code without rules
// does not tell where its caller's stack begins: what a rule would read there is stale.
static void walk_does_not_take_the_end_of_a_record_for_the_callers_stack(void **state)
{
    (void)state;
    enum { FP = 29, LINK_COLUMN = 16 }; // the column of the return address in the CIE
    // CFA = sp + 32, where the record lies 32 bytes below.
    static const uint8_t framed[] = {
        0x0c, 31, 32, 0x80 | LINK_COLUMN, 3, 0x80 | FP, 4
    };
    static const uint8_t call[] = { 0, 0, 0, 0x94 }; // bl
    target_init(&target);
    target_rule(&target, framed, sizeof(framed));
    target_rule(&target, outermost, 2);
    for (size_t i = 0; i < 4; i++)
        memcpy(target.code + target_function(i) - CODE - sizeof(call), call,
               sizeof(call));
    target.stack[0] = STACK + 6 * 8; // function 2, without rules: a frame of six words
    target.stack[1] = target_function(0);
    target.stack[3] = target_function(3); // stale
    target.stack[6] = STACK + 10 * 8;
    target.stack[7] = target_function(1);
    target.registers.value[FP] = STACK;
    target.registers.value[unwind_arch_aarch64.sp] = STACK;
    target.registers.value[unwind_arch_aarch64.pc] = target_function(2);
    target_finish(&target);
    enum unwind_end end =
        target_walk_image_of(&target, &unwind_arch_aarch64, SETTING_UNWIND_AUTO);
    const uint64_t frames[] = { target.frames[0], target.frames[1], target.frames[2] };
    size_t count = target.frame_count;
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 3);
    assert_int_equal(frames[1], target_function(0));
    assert_int_equal(frames[2], target_function(1));
}

static void walk_finds_what_a_signal_interrupted_below_the_kernels_record(void **state)
{
    (void)state;
    // mov x8, #139; svc #0
    static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
    enum { FRAME = 6, RECORD = FRAME + 4688 / 8, REGISTERS = FRAME + 312 / 8 };
    enum { FP = 29, SP = 31, PC = 32 };
    target_init(&target);
    target_rule(&target, outermost, 2);
    memcpy(target.code + CODE_BYTES - FUNCTION_BYTES, code, sizeof(code));
    target.stack[0] = STACK + RECORD * 8; // the handler, without rules
    target.stack[1] = CODE + CODE_BYTES - FUNCTION_BYTES;
    target.stack[REGISTERS + SP] = STACK + 1000 * 8;
    target.stack[REGISTERS + PC] = target_function(0);
    target.registers.value[FP] = STACK;
    target.registers.value[SP] = STACK;
    target.registers.value[PC] = target_function(1);
    target_finish(&target);
    enum unwind_end end =
        target_walk_image_of(&target, &unwind_arch_aarch64, SETTING_UNWIND_AUTO);
    const size_t count = target.frame_count;
    const uint64_t last = target.frames[2];
    const enum unwind_kind kind = target.kinds[2];
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 3);
    assert_int_equal(last, target_function(0));
    assert_int_equal(kind, UNWIND_KIND_PC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp_step_follows_the_frame_record),
        cmocka_unit_test(fp_step_follows_frame_records_of_other_machines),
        cmocka_unit_test(fp_step_keeps_nothing_but_what_the_record_holds),
        cmocka_unit_test(fp_step_ends_at_frame_pointer_zero),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_that_leads_inward),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_that_is_not_aligned),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_far_away),
        cmocka_unit_test(fp_step_faults_where_the_record_cannot_be_read),
        cmocka_unit_test(walk_does_not_take_the_end_of_a_record_for_the_callers_stack),
        cmocka_unit_test(walk_finds_what_a_signal_interrupted_below_the_kernels_record),
    };
    return cmocka_run_group_tests_name("unwind/fp_step", tests, NULL, NULL);
}
