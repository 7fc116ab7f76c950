// SPDX-License-Identifier: Apache-2.0
#include "agent/code_walk.h"

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

static enum ch_status walk_from(uint64_t address, uint64_t *out)
{
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct code_walk walk = { .memory = &reader, .is_code = is_code };
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
    put_word(OBJECT + 8 - DATA, 0x1111);
    put_word(OBJECT + 16 - DATA, 0x2222);
    return 0;
}

// What a function does, and what it returns for the object; 0: it is not understood.
static const struct {
    const char *hex;
    uint64_t result;
} functions[] = {
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

static void function_is_followed_to_what_it_returns(void **state)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        uint64_t result = 0;
        build(state);
        put_code(0, functions[i].hex);
        enum ch_status status = walk_from(CODE, &result);
        if (functions[i].result != 0) {
            assert_int_equal(status, CH_OK);
            assert_int_equal(result, functions[i].result);
        } else {
            assert_true(status != CH_OK || result == 0);
        }
    }
}

static void function_that_is_cut_or_damaged_ends_in_bounded_time(void **state)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        size_t size = strlen(functions[i].hex) / 2;
        for (size_t at = 0; at < size; at++) {
            for (unsigned value = 0; value < 256; value++) {
                uint64_t result;
                build(state);
                put_code(0, functions[i].hex);
                code[at] = (uint8_t)value;
                memory.read_count = 0;
                (void)!walk_from(CODE, &result);
                assert_true(memory.read_count <= 3 * CODE_WALK_STEPS_MAX);
            }
        }
    }
}

static void function_outside_of_code_is_not_followed(void **state)
{
    (void)state;
    uint64_t result;
    assert_int_equal(walk_from(DATA, &result), CH_ERR_FAULT);
    assert_int_equal(walk_from(0, &result), CH_ERR_FAULT);
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
