// SPDX-License-Identifier: Apache-2.0
#include "unwind/fp_step.h"

#include "support/fake_memory.h"
#include "support/test.h"

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
}

static void fp_step_follows_frame_records_of_other_machines(void **state)
{
    (void)state;
    struct unwind_state caller;
    assert_int_equal(step_on(&unwind_arch_aarch64, 0x1000, 0x1000, &caller), CH_OK);
    assert_int_equal(caller.registers.value[32], 0x401234);
    assert_int_equal(caller.registers.value[31], 0x1010);
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
    };
    return cmocka_run_group_tests_name("unwind/fp_step", tests, NULL, NULL);
}
