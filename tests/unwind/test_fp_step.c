// SPDX-License-Identifier: Apache-2.0
#include "unwind/fp_step.h"

#include "support/fake_memory.h"
#include "support/test.h"

// A frame record at 0x1000: caller's frame pointer 0x1040, return address 0x401234.
static const uint64_t record[] = { 0x1040, 0x401234 };
static const struct fake_region stack[] = { { 0x1000, record, sizeof(record) } };

static enum ch_status step(uint64_t sp, uint64_t fp, struct unwind_registers *registers)
{
    struct fake_memory memory = { .regions = stack, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    *registers = (struct unwind_registers){ 0 };
    registers->value[UNWIND_PC] = 0x400000;
    registers->value[UNWIND_SP] = sp;
    registers->value[UNWIND_FP] = fp;
    return fp_step(&reader, registers);
}

static void fp_step_follows_the_frame_record(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0xff0, 0x1000, &registers), CH_OK);
    assert_int_equal(registers.value[UNWIND_PC], 0x401234);
    assert_int_equal(registers.value[UNWIND_FP], 0x1040);
    assert_int_equal(registers.value[UNWIND_SP], 0x1010);
}

static void fp_step_ends_at_frame_pointer_zero(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0xff0, 0, &registers), CH_END);
}

static void fp_step_refuses_a_frame_pointer_that_leads_inward(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0x1008, 0x1000, &registers), CH_ERR_MALFORMED);
}

static void fp_step_refuses_a_frame_pointer_that_is_not_aligned(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0xff0, 0x1004, &registers), CH_ERR_MALFORMED);
}

static void fp_step_refuses_a_frame_pointer_far_away(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0xff0, 0x7fff00000000, &registers), CH_ERR_MALFORMED);
}

static void fp_step_faults_where_the_record_cannot_be_read(void **state)
{
    (void)state;
    struct unwind_registers registers;
    assert_int_equal(step(0xff0, 0x1008, &registers), CH_ERR_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp_step_follows_the_frame_record),
        cmocka_unit_test(fp_step_ends_at_frame_pointer_zero),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_that_leads_inward),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_that_is_not_aligned),
        cmocka_unit_test(fp_step_refuses_a_frame_pointer_far_away),
        cmocka_unit_test(fp_step_faults_where_the_record_cannot_be_read),
    };
    return cmocka_run_group_tests_name("unwind/fp_step", tests, NULL, NULL);
}
