// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_scan.h"

#include "support/test.h"

enum { ENTRY = 0x1000, RDI = 5, RSI = 4, RBX = 3, NONE = INSTRUCTION_NO_REGISTER };

struct code {
    const uint8_t *bytes;
    size_t size;
};

static const uint8_t *code_at(void *context, uint64_t vaddr, size_t *out_size)
{
    const struct code *code = context;
    if (vaddr < ENTRY || vaddr - ENTRY >= code->size)
        return NULL;
    *out_size = code->size - (size_t)(vaddr - ENTRY);
    return code->bytes + (vaddr - ENTRY);
}

// prove says what holds at offset pc of a function of function_size bytes, behind which
// there may be more code. Without a disassembler the test is skipped.
static bool prove(const uint8_t *bytes, size_t size, size_t function_size, size_t pc,
                  struct argument_proof *out)
{
    struct code code = { bytes, size };
    struct argument_scan scan;
    struct instruction_effects effects;
    if (instruction_read_effects(bytes, size, ENTRY, &effects) == CH_ERR_UNSUPPORTED)
        skip();
    assert_int_equal(argument_scan_init(&scan, ENTRY, function_size, code_at, &code),
                     CH_OK);
    bool proved = argument_scan_prove(&scan, ENTRY + pc, out);
    argument_scan_deinit(&scan);
    return proved;
}

static bool untouched(const struct argument_proof *proof, unsigned reg)
{
    return proof->untouched >> reg & 1;
}

static void scan_proves_a_register_until_it_is_written(void **state)
{
    (void)state;
    // 0 mov eax, esi; 2 mov edi, 1; 7 nop; 8 ret
    static const uint8_t code[] = { 0x89, 0xf0, 0xbf, 1, 0, 0, 0, 0x90, 0xc3 };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 2, &proof));
    assert_true(untouched(&proof, RDI));
    assert_true(prove(code, sizeof(code), sizeof(code), 7, &proof));
    assert_false(untouched(&proof, RDI));
    assert_true(untouched(&proof, RSI));
    assert_false(untouched(&proof, 0));
}

static void scan_counts_paths_that_go_back(void **state)
{
    (void)state;
    // 0 test esi, esi; 2 nop; 3 inc edi; 5 dec esi; 7 jne 2; 9 ret
    static const uint8_t code[] = { 0x85, 0xf6, 0x90, 0xff, 0xc7,
                                    0xff, 0xce, 0x75, 0xf9, 0xc3 };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 0, &proof));
    assert_true(untouched(&proof, RDI));
    assert_true(prove(code, sizeof(code), sizeof(code), 2, &proof));
    assert_false(untouched(&proof, RDI));
}

static void scan_leaves_out_paths_that_do_not_lead_there(void **state)
{
    (void)state;
    // 0 test esi, esi; 2 je 7; 4 xor edi, edi; 6 ret; 7 nop; 8 ret
    static const uint8_t code[] = {
        0x85, 0xf6, 0x74, 0x03, 0x31, 0xff, 0xc3, 0x90, 0xc3
    };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 7, &proof));
    assert_true(untouched(&proof, RDI));
}

static void scan_takes_a_call_to_write_what_calls_need_not_keep(void **state)
{
    (void)state;
    // 0 call 0; 5 nop; 6 ret
    static const uint8_t code[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff, 0x90, 0xc3 };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 5, &proof));
    assert_false(untouched(&proof, RDI));
    assert_true(untouched(&proof, RBX));
}

static void scan_takes_an_indirect_jump_to_go_anywhere(void **state)
{
    (void)state;
    // 0 nop; 1 jmp rax; 3 xor edi, edi; 5 ret
    static const uint8_t code[] = { 0x90, 0xff, 0xe0, 0x31, 0xff, 0xc3 };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 5, &proof));
    assert_false(untouched(&proof, RDI));
}

static void scan_finds_a_copy_that_nothing_else_writes(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rdi; 4 call 0; 9 nop; 10 pop rbx; 11 ret
    static const uint8_t code[] = { 0x53, 0x48, 0x89, 0xfb, 0xe8, 0xf7,
                                    0xff, 0xff, 0xff, 0x90, 0x5b, 0xc3 };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 9, &proof));
    assert_int_equal(proof.copied_to[RDI], RBX);
    assert_int_equal(proof.copied_bytes[RDI], 8);
    assert_int_equal(proof.copied_to[RSI], NONE);
    // Before the copy, and behind the pop, the register is the caller's.
    assert_true(prove(code, sizeof(code), sizeof(code), 1, &proof));
    assert_int_equal(proof.copied_to[RDI], NONE);
    assert_true(prove(code, sizeof(code), sizeof(code), 11, &proof));
    assert_int_equal(proof.copied_to[RDI], NONE);
}

static void scan_distrusts_a_copy_that_is_written_again(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rdi; 4 inc ebx; 6 nop; 7 pop rbx; 8 ret
    static const uint8_t code[] = {
        0x53, 0x48, 0x89, 0xfb, 0xff, 0xc3, 0x90, 0x5b, 0xc3
    };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), sizeof(code), 6, &proof));
    assert_int_equal(proof.copied_to[RDI], NONE);
}

static void scan_counts_what_code_outside_writes_that_comes_back(void **state)
{
    (void)state;
    // The function: 0 jne 4; 2 nop; 3 ret. Outside: 4 xor edi, edi; 6 jmp 2.
    static const uint8_t code[] = { 0x75, 0x02, 0x90, 0xc3, 0x31, 0xff, 0xeb, 0xfa };
    struct argument_proof proof;
    assert_true(prove(code, sizeof(code), 4, 2, &proof));
    assert_false(untouched(&proof, RDI));
    assert_true(untouched(&proof, RSI));
}

static void scan_proves_nothing_of_what_it_cannot_decode(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x90, 0x06, 0xc3 }; // 06 is no instruction
    struct argument_proof proof;
    assert_false(prove(code, sizeof(code), sizeof(code), 0, &proof));
    static const uint8_t cut[] = { 0x90, 0xe8, 0x00 };
    assert_false(prove(cut, sizeof(cut), sizeof(cut), 0, &proof));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_proves_a_register_until_it_is_written),
        cmocka_unit_test(scan_counts_paths_that_go_back),
        cmocka_unit_test(scan_leaves_out_paths_that_do_not_lead_there),
        cmocka_unit_test(scan_takes_a_call_to_write_what_calls_need_not_keep),
        cmocka_unit_test(scan_takes_an_indirect_jump_to_go_anywhere),
        cmocka_unit_test(scan_finds_a_copy_that_nothing_else_writes),
        cmocka_unit_test(scan_distrusts_a_copy_that_is_written_again),
        cmocka_unit_test(scan_counts_what_code_outside_writes_that_comes_back),
        cmocka_unit_test(scan_proves_nothing_of_what_it_cannot_decode),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_scan", tests, NULL, NULL);
}
