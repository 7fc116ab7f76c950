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
    enum ch_status status = instruction_read_effects_x86_64(bytes, size, 0x1000, &e);
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
    // shl rdx, 3; imul rax, rdx, 24; shl edx, 3
    e = effects_of(BYTES(0x48, 0xc1, 0xe2, 0x03));
    assert_int_equal(e.action, INSTRUCTION_ADDRESSES);
    assert_int_equal(e.memory.base, INSTRUCTION_NO_REGISTER);
    assert_int_equal(e.memory.index, RDX);
    assert_int_equal(e.memory.scale, 8);
    e = effects_of(BYTES(0x48, 0x6b, 0xc2, 0x18));
    assert_int_equal(e.action, INSTRUCTION_ADDRESSES);
    assert_int_equal(e.memory.index, RDX);
    assert_int_equal(e.memory.scale, 24);
    e = effects_of(BYTES(0xc1, 0xe2, 0x03));
    assert_int_equal(e.action, INSTRUCTION_DOES_OTHER);
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
        assert_int_equal(instruction_read_effects_x86_64(whole, size, 0, &e),
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

// How instructions of AArch64 are written; Capstone 4 does not know those that are
// newer than ARMv8.0.
static const struct {
    uint32_t code;
    const char *text;
    bool by_capstone;
} aarch64_texts[] = {
    { 0xf9400820, "ldr x0, [x1, #0x10]", true },
    { 0xb862d820, "ldr w0, [x1, w2, sxtw #2]", true },
    { 0xb8804420, "ldrsw x0, [x1], #4", true },
    { 0xad000460, "stp q0, q1, [x3]", true },
    { 0x00000007, "udf #7", false },
    { 0x88a07c41, "cas w0, w1, [x2]", false },
    { 0x48e0fc22, "casalh w0, w2, [x1]", false },
    { 0x4862fc24, "caspal x2, x3, x4, x5, [x1]", false },
    { 0xf8e00022, "ldaddal x0, x2, [x1]", false },
    { 0x3820303f, "stsetb w0, [x1]", false },
    { 0xb82083e2, "swp w0, w2, [sp]", false },
    { 0xf8bfc020, "ldapr x0, [x1]", false },
    { 0xf83fd020, "ld64b x0, [x1]", false },
    { 0xd95f8020, "ldapur x0, [x1, #-8]", false },
    { 0x99804020, "ldapursw x0, [x1, #4]", false },
    { 0x59008020, "stlurh w0, [x1, #8]", false },
    { 0x88df7c20, "ldlar w0, [x1]", false },
    { 0xf8fffc20, "ldrab x0, [x1, #-8]!", false },
    { 0xd9201fe0, "stg x0, [sp, #0x10]!", false },
    { 0xd9e02420, "stz2g x0, [x1], #0x20", false },
    { 0xd9600820, "stzg x0, [x1]", false },
    { 0xd9601020, "ldg x0, [x1, #0x10]", false },
    { 0x69008820, "stgp x0, x2, [x1, #0x10]", false },
    { 0x68808820, "stgp x0, x2, [x1], #0x10", false },
    { 0x19010440, "cpyfp [x0]!, [x1]!, x2!", false },
    { 0x1d41e440, "cpymrtn [x0]!, [x1]!, x2!", false },
    { 0x1981c440, "cpyfen [x0]!, [x1]!, x2!", false },
    { 0x19c20420, "setp [x0]!, x1!, x2", false },
    { 0x1ddfb420, "setgetn [x0]!, x1!, xzr", false },
};

static struct instruction decoded_aarch64(uint32_t code)
{
    struct instruction found = { .length = 0 };
    assert_int_equal(
        instruction_decode_aarch64((const uint8_t *)&code, sizeof(code), &found),
        CH_OK);
    assert_int_equal(found.length, sizeof(code));
    return found;
}

static void instructions_of_aarch64_are_written_as_in_its_manual(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(aarch64_texts) / sizeof(aarch64_texts[0]); i++) {
        struct instruction found = decoded_aarch64(aarch64_texts[i].code);
        if (!aarch64_texts[i].by_capstone || found.text[0] != 0)
            assert_string_equal(found.text, aarch64_texts[i].text);
    }
}

static void an_unallocated_atomic_of_aarch64_is_left_out(void **state)
{
    (void)state;
    struct instruction_operand operand;
    struct instruction found;
    static const uint32_t codes[] = { 0xf83fe020, 0xf83ff020 };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        assert_false(instruction_operand_aarch64(codes[i], &operand));
        (void)!instruction_decode_aarch64((const uint8_t *)&codes[i], sizeof(codes[i]),
                                          &found);
    }
}

static void a_prefetch_of_aarch64_never_faults(void **state)
{
    (void)state;
    // prfm pldl1keep, [x0]; prfum; prfm by a literal and by an index
    static const uint32_t codes[] = { 0xf9800000, 0xf8800000, 0xd8000000, 0xf8a26820 };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        assert_int_equal(decoded_aarch64(codes[i]).operands[0].access, OPERAND_UNUSED);
}

static void cut_and_undefined_instructions_of_aarch64_are_refused(void **state)
{
    (void)state;
    const uint8_t load[] = { 0x20, 0x00, 0x40, 0xf9 };
    // Nothing, a pair and a load of reserved sizes, and a copy without a source
    static const uint32_t none[] = { 0xffffffff, 0xe9400000, 0xb9c00000, 0x191f0440 };
    struct instruction found;
    for (size_t size = 0; size < sizeof(load); size++)
        assert_int_equal(instruction_decode_aarch64(load, size, &found),
                         CH_ERR_MALFORMED);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_int_not_equal(instruction_decode_aarch64((const uint8_t *)&none[i],
                                                        sizeof(none[i]), &found),
                             CH_OK);
}

enum { X29 = 29, SP = 31, NONE = INSTRUCTION_NO_REGISTER };

// What instructions of AArch64 at 0x1000 do to registers, and where control goes.
static const struct {
    uint32_t code;
    enum instruction_action action;
    uint8_t to;
    uint8_t from;
    uint32_t written;
    int64_t constant; // or the displacement of memory
    enum instruction_flow flow;
    uint64_t target;
} aarch64_effects[] = {
    { 0xaa0803e0, INSTRUCTION_MOVES, 0, 8, BIT(0), 0, 0, 0 },         // mov x0, x8
    { 0x93407c62, INSTRUCTION_MOVES, 2, 3, BIT(2), 0, 0, 0 },         // sxtw x2, w3
    { 0x910003fd, INSTRUCTION_MOVES, X29, SP, BIT(X29), 0, 0, 0 },    // mov x29, sp
    { 0x92800020, INSTRUCTION_SETS, 0, NONE, BIT(0), -2, 0, 0 },      // mov x0, #-2
    { 0xf2a00020, INSTRUCTION_DOES_OTHER, 0, NONE, BIT(0), 0, 0, 0 }, // movk x0, #1
    { 0x910083ff, INSTRUCTION_ADDS, SP, SP, BIT(SP), 32, 0, 0 },      // add sp, sp, #32
    { 0xd1002021, INSTRUCTION_ADDS, 1, 1, BIT(1), -8, 0, 0 },         // sub x1, x1, #8
    { 0x910043e0, INSTRUCTION_ADDRESSES, 0, SP, BIT(0), 16, 0, 0 },   // add x0, sp, #16
    { 0x90000000, INSTRUCTION_ADDRESSES, 0, NONE, BIT(0), -4, 0, 0 }, // adrp x0, .
    { 0x10000040, INSTRUCTION_ADDRESSES, 0, NONE, BIT(0), 4, 0, 0 },  // adr x0, .+8
    { 0x8b010000, INSTRUCTION_SUMS, 0, 1, BIT(0), 0, 0, 0 },          // add x0, x0, x1
    { 0x8b010c02, INSTRUCTION_ADDRESSES, 2, NONE, BIT(2), 0, 0, 0 }, // add x2, x0, x1*8
    { 0xd37df041, INSTRUCTION_ADDRESSES, 1, 2, BIT(1), 0, 0, 0 },    // lsl x1, x2, #3
    { 0xcb020020, INSTRUCTION_DOES_OTHER, 0, NONE, BIT(0), 0, 0, 0 }, // sub x0, x1, x2
    { 0xeb01001f, INSTRUCTION_DOES_OTHER, NONE, NONE, 0, 0, 0, 0 },   // cmp x0, x1
    { 0xfa410800, INSTRUCTION_DOES_OTHER, 0, NONE, 0, 0, 0, 0 },      // ccmp x0, #1
    { 0xf8408420, INSTRUCTION_LOADS, 0, NONE, BIT(0) | BIT(1), 0, 0,
      0 },                                                        // ldr x0, [x1], #8
    { 0x58000083, INSTRUCTION_LOADS, 3, NONE, BIT(3), 12, 0, 0 }, // ldr x3, .+16
    { 0xf900003f, INSTRUCTION_STORES, NONE, NONE, 0, 0, 0, 0 },   // str xzr, [x1]
    { 0xc8007c41, INSTRUCTION_DOES_OTHER, NONE, NONE, BIT(0) | BIT(1), 0, 0,
      0 }, // stxr
    { 0xf8200041, INSTRUCTION_DOES_OTHER, NONE, NONE, BIT(0) | BIT(1), 0, 0,
      0 }, // ldadd
    { 0x9e780005, INSTRUCTION_DOES_OTHER, NONE, NONE, BIT(5), 0, 0,
      0 },                                                          // fcvtzs x5, d0
    { 0x9e6700a0, INSTRUCTION_DOES_OTHER, NONE, NONE, 0, 0, 0, 0 }, // fmov d0, x5
    { 0x1e622820, INSTRUCTION_DOES_OTHER, NONE, NONE, 0, 0, 0, 0 }, // fadd d0, d1, d2
    { 0x0e0c3c03, INSTRUCTION_DOES_OTHER, NONE, NONE, BIT(3), 0, 0,
      0 },                                                            // mov w3, v0.s[1]
    { 0xd53bd047, INSTRUCTION_DOES_OTHER, 7, NONE, BIT(7), 0, 0, 0 }, // mrs x7
    { 0x94000010, 0, NONE, NONE, 0, 0, INSTRUCTION_CALLS, 0x1040 },   // bl
    { 0x54ffffe1, 0, NONE, NONE, 0, 0, INSTRUCTION_MAY_JUMP, 0xffc }, // b.ne
    { 0x36180040, 0, NONE, NONE, 0, 0, INSTRUCTION_MAY_JUMP, 0x1008 }, // tbz
    { 0xd61f0200, 0, 16, NONE, 0, 0, INSTRUCTION_ANYWHERE, 0 },        // br x16
    { 0xd63f0100, 0, 8, NONE, 0, 0, INSTRUCTION_CALLS, 0 },            // blr x8
    { 0xd65f03c0, 0, 30, NONE, 0, 0, INSTRUCTION_ENDS, 0 },            // ret
    { 0xd4000001, 0, NONE, NONE, 0, 0, INSTRUCTION_CALLS, 0 },         // svc #0
    { 0xd4200020, 0, NONE, NONE, 0, 0, INSTRUCTION_ENDS, 0 },          // brk #1
};

static struct instruction_effects effects_of_aarch64(uint32_t code)
{
    struct instruction_effects e;
    assert_int_equal(instruction_read_effects_aarch64((const uint8_t *)&code,
                                                      sizeof(code), 0x1000, &e),
                     CH_OK);
    return e;
}

static void instructions_of_aarch64_have_effects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(aarch64_effects) / sizeof(aarch64_effects[0]); i++) {
        struct instruction_effects e = effects_of_aarch64(aarch64_effects[i].code);
        bool is_address = e.action == INSTRUCTION_ADDRESSES;
        bool in_memory = is_address || e.action == INSTRUCTION_LOADS;
        uint8_t from = is_address && e.memory.base == INSTRUCTION_NO_REGISTER
                           ? e.memory.index
                           : e.from;
        if (e.action != aarch64_effects[i].action || e.to != aarch64_effects[i].to ||
            (aarch64_effects[i].from != NONE && from != aarch64_effects[i].from) ||
            e.written != aarch64_effects[i].written ||
            (in_memory ? e.memory.displacement : e.constant) !=
                aarch64_effects[i].constant ||
            e.flow != aarch64_effects[i].flow || e.target != aarch64_effects[i].target)
            fail_msg("%08x", aarch64_effects[i].code);
    }
}

static void copies_of_aarch64_change_their_registers_as_they_go_on(void **state)
{
    (void)state;
    // cpyfm [x3]!, [x1]!, x2!; setp [x3]!, x2!, x1
    static const uint32_t codes[] = { 0x19410443, 0x19c10443 };
    for (size_t i = 0; i < 2; i++) {
        struct instruction_effects e = effects_of_aarch64(codes[i]);
        assert_int_equal(e.written, 1 << 3 | 1 << 2 | 1 << 1);
        assert_int_equal(e.memory.base, 3);
        assert_true(e.memory.written && e.repeats);
        assert_int_equal(e.memory.bytes, 0);
    }
}

static void pairs_and_changed_bases_of_aarch64_are_followed(void **state)
{
    (void)state;
    struct instruction_effects e = effects_of_aarch64(0xa9be7bfd);
    // stp x29, x30, [sp, #-32]!
    assert_int_equal(e.action, INSTRUCTION_STORES);
    assert_true(e.is_pair);
    assert_int_equal(e.from, X29);
    assert_int_equal(e.second, X29 + 1);
    assert_int_equal(e.bytes, 8);
    assert_int_equal(e.memory.bytes, 16);
    assert_int_equal(e.memory.displacement, -32);
    assert_int_equal(e.base_added, -32);
    assert_int_equal(e.written, BIT(SP));
    // ldp x29, x30, [sp], #32
    e = effects_of_aarch64(0xa8c27bfd);
    assert_int_equal(e.memory.displacement, 0);
    assert_int_equal(e.base_added, 32);
    // ldrsw x0, [x1, w2, sxtw #2]
    e = effects_of_aarch64(0xb8a2d820);
    assert_true(e.memory.index_word && e.memory.index_signed);
    assert_int_equal(e.memory.index, 2);
    assert_int_equal(e.memory.scale, 4);
    // prfm pldl1keep, [x0]
    assert_false(effects_of_aarch64(0xf9800000).memory.used);
    // udf #0, and an instruction of SVE
    const uint32_t add = 0x04200000;
    assert_int_equal(effects_of_aarch64(0).flow, INSTRUCTION_ENDS);
    assert_int_equal(
        instruction_read_effects_aarch64((const uint8_t *)&add, 4, 0x1000, &e),
        CH_ERR_MALFORMED);
    assert_int_equal(
        instruction_read_effects_aarch64((const uint8_t *)&add, 3, 0x1000, &e),
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
        cmocka_unit_test(instructions_of_aarch64_are_written_as_in_its_manual),
        cmocka_unit_test(an_unallocated_atomic_of_aarch64_is_left_out),
        cmocka_unit_test(a_prefetch_of_aarch64_never_faults),
        cmocka_unit_test(instructions_of_aarch64_have_effects),
        cmocka_unit_test(pairs_and_changed_bases_of_aarch64_are_followed),
        cmocka_unit_test(copies_of_aarch64_change_their_registers_as_they_go_on),
        cmocka_unit_test(cut_and_undefined_instructions_of_aarch64_are_refused),
    };
    return cmocka_run_group_tests_name("symbolizer/instruction", tests, NULL, NULL);
}
