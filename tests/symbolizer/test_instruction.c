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

static void printed_jumps_and_operands_are_addresses(void **state)
{
    (void)state;
    char text[INSTRUCTION_TEXT_MAX];
    size_t length;
    static const uint8_t load[] = { 0x48, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00 };
    static const uint8_t jump[] = { 0x75, 0xfe };
    static const uint8_t branch[] = { 0x02, 0x00, 0x00, 0x14 };
    enum ch_status status =
        instruction_print_x86_64(load, sizeof(load), 0x1000, text, &length);
    if (status == CH_ERR_UNSUPPORTED)
        test_skip("Zydis is missing");
    assert_int_equal(status, CH_OK);
    assert_int_equal(length, sizeof(load));
    assert_string_equal(text, "mov rax, qword ptr [0x1017]");
    assert_int_equal(
        instruction_print_x86_64(jump, sizeof(jump), 0x1000, text, &length), CH_OK);
    assert_string_equal(text, "jnz 0x1000");
    assert_int_equal(instruction_print_x86_64(load, 3, 0x1000, text, &length),
                     CH_ERR_MALFORMED);
    status = instruction_print_aarch64(branch, sizeof(branch), 0x1000, text, &length);
    if (status == CH_ERR_UNSUPPORTED)
        return;
    assert_int_equal(length, 4);
    assert_string_equal(text, "b #0x1008");
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

// What loads and stores of AArch64 access; base and index are registers.
static const struct {
    uint32_t code;
    const char *text;
    enum operand_access access;
    uint16_t size;
    const char *base;
    const char *index;
    uint8_t scale;
    bool is_signed;
    int64_t displacement;
} aarch64_accesses[] = {
    { 0xf9400820, "ldr x0, [x1, #0x10]", OPERAND_READ, 8, "x1", "", 1, false, 16 },
    { 0xb862d820, "ldr w0, [x1, w2, sxtw #2]", OPERAND_READ, 4, "x1", "w2", 4, true,
      0 },
    { 0xf8627820, "ldr x0, [x1, x2, lsl #3]", OPERAND_READ, 8, "x1", "x2", 8, false,
      0 },
    { 0x38624820, "ldrb w0, [x1, w2, uxtw]", OPERAND_READ, 1, "x1", "w2", 1, false, 0 },
    { 0x78802c20, "ldrsh x0, [x1, #2]!", OPERAND_READ, 2, "x1", "", 1, false, 2 },
    { 0xb8804420, "ldrsw x0, [x1], #4", OPERAND_READ, 4, "x1", "", 1, false, 0 },
    { 0xa9be7bfd, NULL, OPERAND_WRITTEN, 16, "sp", "", 1, false, -32 }, // stp x29, x30
    { 0x69400440, "ldpsw x0, x1, [x2]", OPERAND_READ, 8, "x2", "", 1, false, 0 },
    { 0xad000460, "stp q0, q1, [x3]", OPERAND_WRITTEN, 32, "x3", "", 1, false, 0 },
    { 0xc8007c41, "stxr w0, x1, [x2]", OPERAND_WRITTEN, 8, "x2", "", 1, false, 0 },
    { 0x089ffc20, "stlrb w0, [x1]", OPERAND_WRITTEN, 1, "x1", "", 1, false, 0 },
    { 0xf80003df, NULL, OPERAND_WRITTEN, 8, "x30", "", 1, false, 0 },
    { 0x4c40a000, "ld1 {v0.16b, v1.16b}, [x0]", OPERAND_READ, 32, "x0", "", 1, false,
      0 },
    { 0x0d409000, "ld1 {v0.s}[1], [x0]", OPERAND_READ, 4, "x0", "", 1, false, 0 },
    { 0x4d40c800, "ld1r {v0.4s}, [x0]", OPERAND_READ, 4, "x0", "", 1, false, 0 },
    { 0xf9800000, "prfm pldl1keep, [x0]", OPERAND_UNUSED, 0, "x0", "", 1, false, 0 },
};

// decoded_aarch64 decodes an instruction; without Capstone the test is skipped.
static struct instruction decoded_aarch64(uint32_t code)
{
    struct instruction found = { .length = 0 };
    enum ch_status status =
        instruction_decode_aarch64((const uint8_t *)&code, sizeof(code), &found);
    if (status == CH_ERR_UNSUPPORTED)
        test_skip("Capstone is missing");
    assert_int_equal(status, CH_OK);
    assert_int_equal(found.length, sizeof(code));
    return found;
}

static void loads_and_stores_of_aarch64_have_address_and_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(aarch64_accesses) / sizeof(aarch64_accesses[0]);
         i++) {
        struct instruction found = decoded_aarch64(aarch64_accesses[i].code);
        assert_int_not_equal(found.operand_count, 0);
        const struct instruction_operand *operand =
            &found.operands[found.operand_count - 1];
        // Versions of Capstone spell lists of vectors and aliases differently.
        if (aarch64_accesses[i].text != NULL && strchr(found.text, '{') == NULL)
            assert_string_equal(found.text, aarch64_accesses[i].text);
        assert_true(operand->memory);
        assert_int_equal(operand->access, aarch64_accesses[i].access);
        assert_int_equal(operand->size, aarch64_accesses[i].size);
        assert_string_equal(operand->base, aarch64_accesses[i].base);
        assert_string_equal(operand->index, aarch64_accesses[i].index);
        assert_int_equal(operand->scale, aarch64_accesses[i].scale);
        assert_int_equal(operand->index_signed, aarch64_accesses[i].is_signed);
        assert_int_equal(operand->displacement, aarch64_accesses[i].displacement);
    }
}

static void cut_and_undefined_instructions_of_aarch64_are_refused(void **state)
{
    (void)state;
    const uint8_t load[] = { 0x20, 0x00, 0x40, 0xf9 };
    const uint8_t none[] = { 0xff, 0xff, 0xff, 0xff };
    struct instruction found;
    (void)decoded_aarch64(0xf9400020);
    for (size_t size = 0; size < sizeof(load); size++)
        assert_int_equal(instruction_decode_aarch64(load, size, &found),
                         CH_ERR_MALFORMED);
    assert_int_equal(instruction_decode_aarch64(none, sizeof(none), &found),
                     CH_ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_followed_from_register_to_register),
        cmocka_unit_test(printed_jumps_and_operands_are_addresses),
        cmocka_unit_test(constants_are_set_and_added),
        cmocka_unit_test(memory_is_read_and_written_where_the_operand_says),
        cmocka_unit_test(the_stack_is_pushed_and_popped),
        cmocka_unit_test(control_flows_where_the_processor_goes),
        cmocka_unit_test(a_high_byte_is_not_taken_for_the_low_one),
        cmocka_unit_test(registers_that_are_not_operands_count_as_written),
        cmocka_unit_test(a_part_of_an_instruction_is_none),
        cmocka_unit_test(an_instruction_is_written_in_intel_syntax),
        cmocka_unit_test(operands_that_are_not_spelled_are_there_too),
        cmocka_unit_test(loads_and_stores_of_aarch64_have_address_and_size),
        cmocka_unit_test(cut_and_undefined_instructions_of_aarch64_are_refused),
    };
    return cmocka_run_group_tests_name("symbolizer/instruction", tests, NULL, NULL);
}
