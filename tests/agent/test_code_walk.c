// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/code_walk.h"

#include <string.h>

#include "base/hex.h"
#include "support/fake_memory.h"
#include "support/test.h"

enum { CODE = 0x401000, DATA = 0x602000, OBJECT = DATA + 0x40 };

static uint8_t code[256];
static uint8_t data[256];
static const struct fake_region regions[] = { { CODE, code, sizeof(code) },
                                              { DATA, data, sizeof(data) } };
static struct fake_memory memory = { .regions = regions, .region_count = 2 };

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    return address - CODE < sizeof(code);
}

static enum ch_status walk_from(enum unwind_arch_id arch, uint64_t address,
                                uint64_t *out)
{
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct code_walk walk = {
        .arch = arch, .thread = DATA, .memory = &reader, .is_code = is_code
    };
    return code_walk_call(&walk, address, OBJECT, out);
}

static void put_code(size_t at, const char *hex)
{
    size_t size;
    if (hex_decode(hex, strlen(hex), code + at, sizeof(code) - at, &size) != CH_OK)
        fail();
}

static void put_word(size_t at, uint64_t value)
{
    memcpy(data + at, &value, sizeof(value));
}

static int build(void **state)
{
    (void)state;
    memset(code, 0xcc, sizeof(code));
    memset(data, 0, sizeof(data));
    put_word(0, 0x3333);
    put_word(OBJECT + 8 - DATA, 0x1111);
    put_word(OBJECT + 16 - DATA, 0x2222);
    return 0;
}

// What a function does, and what it returns for the object; 0: it is not understood.
struct function {
    const char *hex;
    uint64_t result;
};

static const struct function amd64_functions[] = {
    { "488b4708c3", 0x1111 },            // mov rax, [rdi+8]; ret
    { "f30f1efa488b4708c3", 0x1111 },    // endbr64 before it
    { "488d4710c3", OBJECT + 16 },       // lea rax, [rdi+16]; ret
    { "488d0511000000c3", CODE + 0x18 }, // lea rax, [rip+0x11]; ret
    { "31c0c3", 0 },                     // xor eax, eax; ret
    { "48b88877665544332211c3", UINT64_C(0x1122334455667788) },
    { "b878563412c3", 0x12345678 },
    // push rbp; mov rbp, rsp; mov [rbp-8], rdi; mov rax, [rbp-8]; add rax, 16;
    // mov rax, [rax]; pop rbp; ret
    { "554889e548897df8488b45f84883c010488b005dc3", 0x2222 },
    // mov rax, [rdi+8]; test rax, rax; jne +7; lea rax, [rdi+1]; nop; ret
    { "488b47084885c07504488d4701c3", 0x1111 },
    // cmp byte [rdi+8], 0x11; mov eax, 1; mov ecx, 2; cmove eax, ecx; ret
    { "807f0811b801000000b9020000000f44c1c3", 2 },
    // sub rsp, 24; mov rax, fs:[0x28]; mov [rsp+8], rax; mov rdx, [rsp+8];
    // sub rdx, fs:[0x28]; jne +5; mov rax, [rdi+8]; add rsp, 24; ret
    { "4883ec1864488b042528000000488944240848"
      "8b54240864482b142528000000750c488b47084883c418c3cccccccccccc",
      0x1111 },
    // movzx eax, byte [rdi+8]; and eax, 1; ret
    { "0fb6470883e001c3", 1 },
    { "e805000000c3cccccccc488b4710c3", 0x2222 }, // call +5; ret; ...
    { "eb03cccccc488b4710c3", 0x2222 },           // jmp +3
    { "488b07488b4010ffe0", 0 },                  // jumps through what is null
    { "488b4318c3", 0 },                          // rbx is not known
    { "48894708488b4708c3", 0 },                  // writes to the object
    { "0f05c3", 0 },                              // syscall
    { "ebfe", 0 },                                // never ends
    { "c8000000c3", 0 },                          // enter
    { "488b0425f0ffffffc3", 0 },                  // reads what cannot be read
};

static const struct function aarch64_functions[] = {
    { "000440f9c0035fd6", 0x1111 },         // ldr x0, [x0, #8]; ret
    { "5f2403d5000440f9c0035fd6", 0x1111 }, // bti c before it
    { "00400091c0035fd6", OBJECT + 16 },    // add x0, x0, #16; ret
    { "c0000010c0035fd6", CODE + 0x18 },    // adr x0, 0x18; ret
    { "00000090c0035fd6", CODE },           // adrp x0, the function; ret
    // mov x0, #0x7788; movk x0, #0x5566, lsl #16; movk x0, #0x3344, lsl #32; ret
    { "00f18ed2c0acaaf28068c6f2c0035fd6", UINT64_C(0x334455667788) },
    // paciasp; stp x29, x30, [sp, #-32]!; mov x29, sp; str x0, [sp, #24];
    // ldr x0, [sp, #24]; add x0, x0, #16; bl +16; ldp x29, x30, [sp], #32; autiasp;
    // ret; ldr x0, [x0]; ret
    { "3f2303d5fd7bbea9fd030091e00f00f9e00f40f90040009104000094fd7bc2a8bf2303d5"
      "c0035fd6000040f9c0035fd6",
      0x2222 },
    // ldr x1, [x0, #8]; cbnz x1, +12; add x0, x0, #1; ret; mov x0, x1; ret
    { "010440f9610000b500040091c0035fd6e00301aac0035fd6", 0x1111 },
    // ldrb w1, [x0, #8]; cmp w1, #0x11; mov w2, #2; csinc w0, w2, wzr, eq; ret
    { "012040393f4400714200805240049f1ac0035fd6", 2 },
    { "0020403900000012c0035fd6", 1 }, // ldrb w0, [x0, #8]; and w0, w0, #1; ret
    // ldr x1, [x0, #8]!; tbnz w1, #0, +8; brk #1; mov x1, #8; ldr x0, [x0, x1]; retaa
    { "018c40f841000037200020d4010180d2006861f8ff0b5fd6", 0x2222 },
    // mov w1, #-8; add x0, x0, #24; add x0, x0, w1, sxtw; ldur x0, [x0]; ret
    { "e10080120060009100c0218b000040f8c0035fd6", 0x2222 },
    { "41d03bd5200040f9c0035fd6", 0x3333 }, // mrs x1, tpidr_el0; ldr x0, [x1]; ret
    { "010040f9210840f920001fd6", 0 },      // jumps through what is null
    { "600e40f9c0035fd6", 0 },              // x19 is not known
    { "000400f9000440f9c0035fd6", 0 },      // writes to the object
    { "010000d4c0035fd6", 0 },              // svc #0
    { "00000014", 0 },                      // never ends
    { "e1018092200040f9c0035fd6", 0 },      // reads what cannot be read
    { "0000c03dc0035fd6", 0 },              // ldr q0, [x0]
};

static const struct {
    enum unwind_arch_id arch;
    size_t count;
    const struct function *functions;
} kinds[] = {
    { UNWIND_ARCH_AMD64, sizeof(amd64_functions) / sizeof(amd64_functions[0]),
      amd64_functions },
    { UNWIND_ARCH_AARCH64, sizeof(aarch64_functions) / sizeof(aarch64_functions[0]),
      aarch64_functions },
};

// follow puts a function into memory and follows it.
static enum ch_status follow(size_t kind, size_t index, uint64_t *out)
{
    build(NULL);
    put_code(0, kinds[kind].functions[index].hex);
    return walk_from(kinds[kind].arch, CODE, out);
}

static void function_is_followed_to_what_it_returns(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < kinds[kind].count; i++) {
            uint64_t result = 0;
            uint64_t wanted = kinds[kind].functions[i].result;
            enum ch_status status = follow(kind, i, &result);
            assert_true(wanted != 0 ? status == CH_OK && result == wanted
                                    : status != CH_OK || result == 0);
        }
    }
}

// damage puts every value into one byte of a function and follows it.
static void damage(enum unwind_arch_id arch, const char *hex, size_t at)
{
    for (unsigned value = 0; value < 256; value++) {
        uint64_t result;
        build(NULL);
        put_code(0, hex);
        code[at] = (uint8_t)value;
        memory.read_count = 0;
        (void)!walk_from(arch, CODE, &result);
        assert_true(memory.read_count <= 3 * CODE_WALK_STEPS_MAX);
    }
}

static void function_that_is_cut_or_damaged_ends_in_bounded_time(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < kinds[kind].count; i++) {
            const char *hex = kinds[kind].functions[i].hex;
            for (size_t at = 0; at < strlen(hex) / 2; at++)
                damage(kinds[kind].arch, hex, at);
        }
    }
}

static void function_outside_of_code_is_not_followed(void **state)
{
    (void)state;
    uint64_t result;
    for (size_t kind = 0; kind < 2; kind++) {
        enum unwind_arch_id arch = kinds[kind].arch;
        assert_int_equal(walk_from(arch, DATA, &result), CH_ERR_FAULT);
        assert_int_equal(walk_from(arch, 0, &result), CH_ERR_FAULT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_is_followed_to_what_it_returns),
        cmocka_unit_test(function_that_is_cut_or_damaged_ends_in_bounded_time),
        cmocka_unit_test(function_outside_of_code_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
