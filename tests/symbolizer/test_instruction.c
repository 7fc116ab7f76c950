// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/instruction.h"

#include <string.h>

#include "support/test.h"

enum { RAX = 0, RDX = 1, RCX = 2, RBX = 3, RSI = 4, RDI = 5, RBP = 6, RSP = 7, R8 = 8 };

#define BIT(number) (1u << (number))
#define BYTES(...)                                                                     \
    (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

// effects_of decodes an instruction at 0x1000; without Zydis the test is skipped.
static struct instruction_effects effects_of(const uint8_t *bytes, size_t size)
{
    struct instruction_effects e = { .length = 0 };
    enum ch_status status = instruction_read_effects(bytes, size, 0x1000, &e);
    if (status == CH_ERR_UNSUPPORTED)
        test_skip("Zydis is missing");
    assert_int_equal(status, CH_OK);
    assert_int_equal(e.length, size);
    return e;
}

static struct instruction decoded(const uint8_t *bytes, size_t size)
{
    struct instruction found = { .length = 0 };
    enum ch_status status = instruction_decode(bytes, size, &found);
    if (status == CH_ERR_UNSUPPORTED)
        test_skip("Zydis is missing");
    assert_int_equal(status, CH_OK);
    return found;
}

static void values_are_followed_from_register_to_register(void **state)
{
    (void)state;
    // mov rax, r8
    struct instruction_effects e = effects_of(BYTES(0x4c, 0x89, 0xc0));
    assert_int_equal(e.action, INSTRUCTION_MOVES);
    assert_int_equal(e.to, RAX);
    assert_int_equal(e.from, R8);
    assert_int_equal(e.bytes, 8);
    assert_int_equal(e.written, BIT(RAX));
    // mov ax, cx: the rest of rax stays
    assert_int_equal(effects_of(BYTES(0x66, 0x89, 0xc8)).action,
                     INSTRUCTION_DOES_OTHER);
    // cdqe
    e = effects_of(BYTES(0x48, 0x98));
    assert_int_equal(e.action, INSTRUCTION_MOVES);
    assert_int_equal(e.bytes, 4);
    // add rax, rcx
    assert_int_equal(effects_of(BYTES(0x48, 0x01, 0xc8)).action, INSTRUCTION_SUMS);
}

static void constants_are_set_and_added(void **state)
{
    (void)state;
    // mov eax, -1
    struct instruction_effects e = effects_of(BYTES(0xb8, 0xff, 0xff, 0xff, 0xff));
    assert_int_equal(e.action, INSTRUCTION_SETS);
    assert_int_equal(e.constant, UINT32_MAX);
    // mov rax, -2
    e = effects_of(BYTES(0x48, 0xc7, 0xc0, 0xfe, 0xff, 0xff, 0xff));
    assert_int_equal(e.constant, -2);
    // xor eax, eax
    assert_int_equal(effects_of(BYTES(0x31, 0xc0)).action, INSTRUCTION_SETS);
    // sub rsp, 0x18
    e = effects_of(BYTES(0x48, 0x83, 0xec, 0x18));
    assert_int_equal(e.action, INSTRUCTION_ADDS);
    assert_int_equal(e.constant, -0x18);
}

static void memory_is_read_and_written_where_the_operand_says(void **state)
{
    (void)state;
    // mov rdx, [rbp - 8]
    struct instruction_effects e = effects_of(BYTES(0x48, 0x8b, 0x55, 0xf8));
    assert_int_equal(e.action, INSTRUCTION_LOADS);
    assert_true(e.memory.used && e.memory.read && !e.memory.written);
    assert_int_equal(e.memory.base, RBP);
    assert_int_equal(e.memory.index, INSTRUCTION_NO_REGISTER);
    assert_int_equal(e.memory.displacement, -8);
    assert_int_equal(e.memory.bytes, 8);
    // mov [rdi + rsi*4], ecx
    e = effects_of(BYTES(0x89, 0x0c, 0xb7));
    assert_int_equal(e.action, INSTRUCTION_STORES);
    assert_true(e.memory.written && !e.memory.read);
    assert_int_equal(e.memory.index, RSI);
    assert_int_equal(e.memory.scale, 4);
    // lea rax, [rip + 0x10]
    e = effects_of(BYTES(0x48, 0x8d, 0x05, 0x10, 0, 0, 0));
    assert_int_equal(e.action, INSTRUCTION_ADDRESSES);
    assert_int_equal(e.memory.base, INSTRUCTION_PC);
    assert_false(e.memory.read || e.memory.written);
    // mov rax, fs:[0x28]: where the segment begins is not known
    e = effects_of(BYTES(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0));
    assert_int_equal(e.action, INSTRUCTION_DOES_OTHER);
    // rep stosq
    e = effects_of(BYTES(0xf3, 0x48, 0xab));
    assert_true(e.repeats && e.memory.written);
    assert_int_equal(e.memory.base, RDI);
    assert_int_equal(e.written, BIT(RDI) | BIT(RCX));
}

static void the_stack_is_pushed_and_popped(void **state)
{
    (void)state;
    struct instruction_effects e = effects_of(BYTES(0x53)); // push rbx
    assert_int_equal(e.action, INSTRUCTION_PUSHES);
    assert_int_equal(e.from, RBX);
    assert_int_equal(e.written, BIT(RSP));
    e = effects_of(BYTES(0x6a, 0)); // push 0
    assert_int_equal(e.action, INSTRUCTION_PUSHES);
    assert_int_equal(e.from, INSTRUCTION_NO_REGISTER);
    e = effects_of(BYTES(0x5b)); // pop rbx
    assert_int_equal(e.action, INSTRUCTION_POPS);
    assert_int_equal(e.to, RBX);
    assert_int_equal(e.written, BIT(RSP) | BIT(RBX));
    e = effects_of(BYTES(0xc9)); // leave
    assert_int_equal(e.action, INSTRUCTION_LEAVES);
    assert_int_equal(e.written, BIT(RSP) | BIT(RBP));
}

static void control_flows_where_the_processor_goes(void **state)
{
    (void)state;
    struct instruction_effects e = effects_of(BYTES(0xe8, 0x10, 0, 0, 0)); // call
    assert_int_equal(e.flow, INSTRUCTION_CALLS);
    assert_int_equal(e.target, 0x1015);
    e = effects_of(BYTES(0x74, 0xfe)); // je to itself
    assert_int_equal(e.flow, INSTRUCTION_MAY_JUMP);
    assert_int_equal(e.target, 0x1000);
    assert_int_equal(effects_of(BYTES(0xeb, 0)).flow, INSTRUCTION_JUMPS);
    assert_int_equal(effects_of(BYTES(0xff, 0xe0)).flow, INSTRUCTION_ANYWHERE);
    assert_int_equal(effects_of(BYTES(0xff, 0xd0)).target, 0); // call rax
    assert_int_equal(effects_of(BYTES(0xc3)).flow, INSTRUCTION_ENDS);
    assert_int_equal(effects_of(BYTES(0x0f, 0x0b)).flow, INSTRUCTION_ENDS); // ud2
    assert_int_equal(effects_of(BYTES(0x0f, 0x05)).flow, INSTRUCTION_CALLS);
}

static void a_high_byte_is_not_taken_for_the_low_one(void **state)
{
    (void)state;
    // movzx edx, al; movzx edx, ah; mov [rdi], al; mov [rdi], ah
    assert_int_equal(effects_of(BYTES(0x0f, 0xb6, 0xd0)).action, INSTRUCTION_MOVES);
    assert_int_equal(effects_of(BYTES(0x0f, 0xb6, 0xd4)).action,
                     INSTRUCTION_DOES_OTHER);
    assert_int_equal(effects_of(BYTES(0x88, 0x07)).action, INSTRUCTION_STORES);
    struct instruction_effects e = effects_of(BYTES(0x88, 0x27));
    assert_int_equal(e.action, INSTRUCTION_DOES_OTHER);
    assert_true(e.memory.written);
}

static void registers_that_are_not_operands_count_as_written(void **state)
{
    (void)state;
    // cmpxchg, mulx, xlat, enter, cqo, test al
    assert_int_equal(effects_of(BYTES(0x48, 0x0f, 0xb1, 0x0f)).written, BIT(RAX));
    assert_int_equal(effects_of(BYTES(0xc4, 0xe2, 0xe3, 0xf6, 0xd6)).written,
                     BIT(RDX) | BIT(RBX));
    assert_int_equal(effects_of(BYTES(0xd7)).written, BIT(RAX));
    assert_int_equal(effects_of(BYTES(0xc8, 0x10, 0, 0)).written, BIT(RBP) | BIT(RSP));
    assert_int_equal(effects_of(BYTES(0x48, 0x99)).written, BIT(RDX));
    assert_int_equal(effects_of(BYTES(0xa8, 1)).written, 0);
}

static void a_part_of_an_instruction_is_none(void **state)
{
    (void)state;
    static const uint8_t whole[] = { 0xf0, 0x49, 0x0f, 0xb1, 0x8d, 1, 2, 3, 4 };
    struct instruction_effects e = effects_of(whole, sizeof(whole)); // lock cmpxchg
    assert_true(e.repeats);
    for (size_t size = 0; size < sizeof(whole); size++)
        assert_int_equal(instruction_read_effects(whole, size, 0, &e),
                         CH_ERR_MALFORMED);
}

static void an_instruction_is_written_in_intel_syntax(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[INSTRUCTION_BYTES_MAX];
        const char *text;
    } cases[] = {
        { { 0x48, 0x8b, 0x44, 0xb7, 0x08 }, "mov rax, qword ptr [rdi + rsi*4 + 8]" },
        { { 0x8b, 0x40, 0xf0 }, "mov eax, dword ptr [rax - 0x10]" },
        { { 0xc6, 0x00, 0x01 }, "mov byte ptr [rax], 1" },
        { { 0x83, 0xf8, 0xff }, "cmp eax, -1" },
        { { 0x0f, 0x0b }, "ud2" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct instruction found = decoded(cases[i].bytes, sizeof(cases[i].bytes));
        assert_string_equal(found.text, cases[i].text);
    }
}

static void operands_that_are_not_spelled_are_there_too(void **state)
{
    (void)state;
    struct instruction found = decoded(BYTES(0xff, 0xd0)); // call rax
    assert_int_equal(found.form, INSTRUCTION_BRANCH);
    assert_string_equal(found.operands[0].name, "rax");
    assert_int_equal(found.operand_count, 2);
    assert_string_equal(found.operands[1].base, "rsp");
    assert_int_equal(found.operands[1].displacement, -8);
    assert_int_equal(found.operands[1].access, OPERAND_WRITTEN);
    found = decoded(BYTES(0xc3)); // ret
    assert_int_equal(found.form, INSTRUCTION_RETURN);
    assert_int_equal(found.operands[0].access, OPERAND_READ);
    assert_int_equal(found.operands[0].displacement, 0);
    // vpcmpub k1 {k2}, ymm18, [rdi], 4: five operands
    found = decoded(BYTES(0x62, 0xf3, 0x6d, 0x22, 0x3e, 0x0f, 0x04));
    assert_string_equal(found.operands[3].base, "rdi");
    assert_int_equal(found.operands[3].size, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_followed_from_register_to_register),
        cmocka_unit_test(constants_are_set_and_added),
        cmocka_unit_test(memory_is_read_and_written_where_the_operand_says),
        cmocka_unit_test(the_stack_is_pushed_and_popped),
        cmocka_unit_test(control_flows_where_the_processor_goes),
        cmocka_unit_test(a_high_byte_is_not_taken_for_the_low_one),
        cmocka_unit_test(registers_that_are_not_operands_count_as_written),
        cmocka_unit_test(a_part_of_an_instruction_is_none),
        cmocka_unit_test(an_instruction_is_written_in_intel_syntax),
        cmocka_unit_test(operands_that_are_not_spelled_are_there_too),
    };
    return cmocka_run_group_tests_name("symbolizer/instruction", tests, NULL, NULL);
}
