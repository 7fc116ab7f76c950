// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/argument_scan.h"

#include "support/test.h"

enum {
    ENTRY = 0x1000,
    RAX = 0,
    RDI = 5,
    RSI = 4,
    RBX = 3,
    ALL = 0xffff,
    NOWHERE = 0x100,
};

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

// scan_of scans a function of function_size bytes, after which there may be more code.
// Without a disassembler the test is skipped.
static struct argument_scan *scan_of(const uint8_t *bytes, size_t size,
                                     size_t function_size)
{
    struct code code = { bytes, size };
    struct instruction_effects effects;
    if (instruction_read_effects_x86_64(bytes, size, ENTRY, &effects) ==
        CH_ERR_UNSUPPORTED)
        test_skip("Zydis is missing");
    struct argument_scan *scan = argument_scan_create(&argument_machine_amd64, ENTRY,
                                                      function_size, code_at, &code);
    assert_non_null(scan);
    return scan;
}

// before reports what holds at offset pc. False: nothing is proved there.
static bool before(const uint8_t *bytes, size_t size, size_t function_size, size_t pc,
                   struct argument_point *out)
{
    struct argument_scan *scan = scan_of(bytes, size, function_size);
    bool known = argument_scan_before(scan, ENTRY + pc, out);
    argument_scan_destroy(scan);
    return known;
}

// place_of is where content is: a register's number, a negative offset of the frame, or
// NOWHERE.
static int64_t place_of(const struct argument_point *point, unsigned registers,
                        struct argument_content content)
{
    struct argument_holder holder;
    if (!argument_scan_holder(point, &content, registers, &holder))
        return NOWHERE;
    assert_true(holder.is_slot == (holder.place < 0));
    return holder.place;
}

static int64_t holder_of(const struct argument_point *point, unsigned registers,
                         unsigned reg)
{
    return place_of(point, registers,
                    (struct argument_content){ ARGUMENT_OF_ENTRY, 8, reg });
}

static bool untouched(const struct argument_point *point, unsigned reg)
{
    return holder_of(point, 1u << reg, reg) == reg;
}

#define BEFORE(code, pc, point) before(code, sizeof(code), sizeof(code), pc, point)

static void scan_proves_a_register_until_it_is_written(void **state)
{
    (void)state;
    // 0 mov eax, esi; 2 mov edi, 1; 7 nop; 8 ret
    static const uint8_t code[] = { 0x89, 0xf0, 0xbf, 1, 0, 0, 0, 0x90, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 2, &point));
    assert_true(untouched(&point, RDI));
    assert_true(BEFORE(code, 7, &point));
    assert_false(untouched(&point, RDI));
    assert_true(untouched(&point, RSI));
    assert_false(untouched(&point, RAX));
}

static void scan_counts_paths_that_go_back(void **state)
{
    (void)state;
    // 0 test esi, esi; 2 nop; 3 inc edi; 5 dec esi; 7 jne 2; 9 ret
    static const uint8_t code[] = { 0x85, 0xf6, 0x90, 0xff, 0xc7,
                                    0xff, 0xce, 0x75, 0xf9, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 0, &point));
    assert_true(untouched(&point, RDI));
    assert_true(BEFORE(code, 2, &point));
    assert_false(untouched(&point, RDI));
}

static void scan_leaves_out_paths_that_do_not_lead_there(void **state)
{
    (void)state;
    // 0 test esi, esi; 2 je 7; 4 xor edi, edi; 6 ret; 7 nop; 8 ret
    static const uint8_t code[] = {
        0x85, 0xf6, 0x74, 0x03, 0x31, 0xff, 0xc3, 0x90, 0xc3
    };
    struct argument_point point;
    assert_true(BEFORE(code, 7, &point));
    assert_true(untouched(&point, RDI));
}

static void scan_takes_a_call_to_write_what_calls_need_not_keep(void **state)
{
    (void)state;
    // 0 call 0; 5 nop; 6 ret
    static const uint8_t code[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff, 0x90, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 5, &point));
    assert_false(untouched(&point, RDI));
    assert_true(untouched(&point, RBX));
}

static void scan_takes_an_indirect_jump_to_go_anywhere(void **state)
{
    (void)state;
    // 0 test esi, esi; 2 je 7; 4 nop; 5 jmp rax; 7 inc edi; 9 jmp rax; 11 nop; 12 ret
    static const uint8_t code[] = { 0x85, 0xf6, 0x74, 0x03, 0x90, 0xff, 0xe0,
                                    0xff, 0xc7, 0xff, 0xe0, 0x90, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 4, &point));
    assert_false(untouched(&point, RDI));
    assert_true(untouched(&point, RSI));
    assert_true(BEFORE(code, 11, &point));
    assert_false(untouched(&point, RDI));
}

static void scan_takes_an_indirect_jump_to_stay_at_the_height_of_the_stack(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rdi; 4 test esi, esi; 6 je 11; 8 pop rbx; 9 jmp rax;
    // 11 call 0; 16 nop; 17 pop rbx; 18 ret
    static const uint8_t code[] = { 0x53, 0x48, 0x89, 0xfb, 0x85, 0xf6, 0x74,
                                    0x03, 0x5b, 0xff, 0xe0, 0xe8, 0xf0, 0xff,
                                    0xff, 0xff, 0x90, 0x5b, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 16, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), RBX);
}

static void scan_finds_a_copy_as_long_as_it_is_there(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rdi; 4 call 0; 9 nop; 10 pop rbx; 11 ret
    static const uint8_t code[] = { 0x53, 0x48, 0x89, 0xfb, 0xe8, 0xf7,
                                    0xff, 0xff, 0xff, 0x90, 0x5b, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 9, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), RBX);
    assert_int_equal(holder_of(&point, ALL, RSI), NOWHERE);
    // Before the copy, and after the pop, the register is the caller's.
    assert_true(BEFORE(code, 1, &point));
    assert_int_equal(holder_of(&point, 1u << RBX, RDI), NOWHERE);
    assert_true(BEFORE(code, 11, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), NOWHERE);
    assert_true(untouched(&point, RBX));
}

static void scan_distrusts_a_copy_that_is_written_again(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rdi; 4 inc ebx; 6 nop; 7 pop rbx; 8 ret
    static const uint8_t code[] = {
        0x53, 0x48, 0x89, 0xfb, 0xff, 0xc3, 0x90, 0x5b, 0xc3
    };
    struct argument_point point;
    assert_true(BEFORE(code, 6, &point));
    assert_int_equal(holder_of(&point, 1u << RBX, RDI), NOWHERE);
}

static void scan_follows_a_copy_of_a_copy_as_far_as_it_is_wide(void **state)
{
    (void)state;
    // 0 mov eax, edi; 2 movsxd rbx, eax; 5 call 0; 10 ret
    static const uint8_t code[] = { 0x89, 0xf8, 0x48, 0x63, 0xd8, 0xe8,
                                    0xf6, 0xff, 0xff, 0xff, 0xc3 };
    const struct argument_content rdi = { ARGUMENT_OF_ENTRY, 8, RDI };
    struct argument_point point;
    struct argument_holder holder;
    assert_true(BEFORE(code, 10, &point));
    assert_true(argument_scan_holder(&point, &rdi, ALL, &holder));
    assert_int_equal(holder.place, RBX);
    assert_int_equal(holder.bytes, 4);
}

static void scan_finds_what_was_stored_in_the_frame_and_is_read_back(void **state)
{
    (void)state;
    // 0 sub rsp, 24; 4 mov [rsp+8], rdi; 9 call 0; 14 mov rdi, [rsp+8]; 19 add rsp, 24;
    // 23 ret
    static const uint8_t code[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x7c, 0x24,
                                    0x08, 0xe8, 0xf2, 0xff, 0xff, 0xff, 0x48, 0x8b,
                                    0x7c, 0x24, 0x08, 0x48, 0x83, 0xc4, 0x18, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 14, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), -24);
    assert_true(BEFORE(code, 19, &point));
    assert_true(untouched(&point, RDI));
}

static void scan_distrusts_a_slot_that_is_not_read_back(void **state)
{
    (void)state;
    // 0 sub rsp, 24; 4 mov [rsp], rdi; 8 call 0; 13 add rsp, 24; 17 ret
    static const uint8_t code[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89,
                                    0x3c, 0x24, 0xe8, 0xf3, 0xff, 0xff,
                                    0xff, 0x48, 0x83, 0xc4, 0x18, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 13, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), NOWHERE);
}

static void scan_distrusts_slots_above_an_address_that_was_let_out(void **state)
{
    (void)state;
    // 0 sub rsp, 24; 4 mov [rsp+8], rdi; 9 lea rax, [rsp+N]; 14 call 0;
    // 19 mov rdi, [rsp+8]; 24 add rsp, 24; 28 ret
    uint8_t code[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x7c, 0x24, 0x08, 0x48,
                       0x8d, 0x44, 0x24, 0x08, 0xe8, 0xed, 0xff, 0xff, 0xff, 0x48,
                       0x8b, 0x7c, 0x24, 0x08, 0x48, 0x83, 0xc4, 0x18, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 19, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), NOWHERE);
    code[13] = 0; // a local below it
    assert_true(BEFORE(code, 19, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), NOWHERE);
    code[13] = 16; // one above it
    assert_true(BEFORE(code, 19, &point));
    assert_int_equal(holder_of(&point, ALL, RDI), -24);
}

static void scan_distrusts_a_slot_that_is_written_in_part(void **state)
{
    (void)state;
    // 0 mov [rsp-16], rdi; 5 mov byte [rsp-13], 0; 10 mov rdi, [rsp-16]; 15 ret
    static const uint8_t code[] = { 0x48, 0x89, 0x7c, 0x24, 0xf0, 0xc6, 0x44, 0x24,
                                    0xf3, 0x00, 0x48, 0x8b, 0x7c, 0x24, 0xf0, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 5, &point));
    assert_int_equal(holder_of(&point, 0, RDI), -24);
    assert_true(BEFORE(code, 10, &point));
    assert_int_equal(holder_of(&point, 0, RDI), NOWHERE);
    assert_true(BEFORE(code, 15, &point));
    assert_false(untouched(&point, RDI));
}

static void scan_distrusts_what_a_repeated_instruction_has_half_done(void **state)
{
    (void)state;
    // 0 rep stosb; 2 ret
    static const uint8_t code[] = { 0xf3, 0xaa, 0xc3 };
    struct argument_point point;
    assert_true(BEFORE(code, 0, &point));
    assert_false(untouched(&point, RDI));
    assert_true(untouched(&point, RSI));
}

static void scan_follows_code_outside_that_comes_back(void **state)
{
    (void)state;
    // The function: 0 jne 4; 2 nop; 3 ret. Outside: 4 xor edi, edi; 6 jmp 2.
    static const uint8_t code[] = { 0x75, 0x02, 0x90, 0xc3, 0x31, 0xff, 0xeb, 0xfa };
    struct argument_point point;
    assert_true(before(code, sizeof(code), 4, 2, &point));
    assert_false(untouched(&point, RDI));
    assert_true(untouched(&point, RSI));
    assert_true(before(code, sizeof(code), 4, 4, &point)); // it is the function's
    assert_true(untouched(&point, RDI));
}

static void scan_notes_that_a_function_is_entered_again(void **state)
{
    (void)state;
    // 0 nop; 1 jmp 3, outside; 3 jmp N
    uint8_t code[] = { 0x90, 0xeb, 0x00, 0xeb, 0xfb };
    struct argument_scan *scan = scan_of(code, sizeof(code), 3);
    bool reentered = scan->code.reentered;
    argument_scan_destroy(scan);
    code[4] = 0xfe; // to itself
    scan = scan_of(code, sizeof(code), 3);
    bool stayed_out = !scan->code.reentered;
    argument_scan_destroy(scan);
    assert_true(reentered);
    assert_true(stayed_out);
}

static void scan_says_what_a_call_passes(void **state)
{
    (void)state;
    // 0 push rbx; 1 mov rbx, rax; 4 mov rdi, rbx; 7 mov esi, 5; 12 call 0; 17 pop rbx;
    // 18 ret
    static const uint8_t code[] = { 0x53, 0x48, 0x89, 0xc3, 0x48, 0x89, 0xdf,
                                    0xbe, 5,    0,    0,    0,    0xe8, 0xef,
                                    0xff, 0xff, 0xff, 0x5b, 0xc3 };
    struct argument_scan *scan = scan_of(code, sizeof(code), sizeof(code));
    const struct argument_scanned_call *found = argument_scan_called(scan, ENTRY + 16);
    bool called = found != NULL;
    struct argument_scanned_call call =
        called ? *found : (struct argument_scanned_call){ 0 };
    bool elsewhere = argument_scan_called(scan, ENTRY + 15) != NULL;
    argument_scan_destroy(scan);
    assert_true(called);
    assert_false(elsewhere);
    assert_int_equal(call.target, ENTRY);
    assert_int_equal(call.before.state.places[RSI].kind, ARGUMENT_OF_CONSTANT);
    assert_int_equal(call.before.state.places[RSI].number, 5);
    assert_int_equal(place_of(&call.after, ALL, call.before.state.places[RDI]), RBX);
}

static void scan_proves_nothing_of_what_it_cannot_decode(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x90, 0x06, 0xc3 }; // 06 is no instruction
    struct argument_point point;
    assert_false(BEFORE(code, 0, &point));
    static const uint8_t cut[] = { 0x90, 0xe8, 0x00 };
    assert_false(BEFORE(cut, 0, &point));
}

static void scan_bears_code_that_is_cut_anywhere(void **state)
{
    (void)state;
    // As in scan_takes_an_indirect_jump_to_stay_at_the_height_of_the_stack.
    static const uint8_t code[] = { 0x53, 0x48, 0x89, 0xfb, 0x85, 0xf6, 0x74,
                                    0x03, 0x5b, 0xff, 0xe0, 0xe8, 0xf0, 0xff,
                                    0xff, 0xff, 0x90, 0x5b, 0xc3 };
    struct argument_point point;
    for (size_t size = 1; size < sizeof(code); size++)
        for (size_t pc = 0; pc < size; pc++)
            if (before(code, size, size, pc, &point) && pc == 0)
                assert_true(untouched(&point, RDI));
}

static void saved_registers_of_aarch64_are_found(void **state)
{
    (void)state;
    static const uint32_t words[] = {
        0xa9be7bfd, // stp x29, x30, [sp, #-32]!
        0x910003fd, // mov x29, sp
        0xf9000bf3, // str x19, [sp, #16]
        0xaa0003f3, // mov x19, x0
        0x94000010, // bl
        0xf9400260, // ldr x0, [x19]
        0xf9400bf3, // ldr x19, [sp, #16]
        0xa8c27bfd, // ldp x29, x30, [sp], #32
        0xd65f03c0, // ret
    };
    enum { AFTER_CALL = 20, AT_RETURN = 32, X0 = 0, X19 = 19, X29 = 29, SP = 31 };
    struct code code = { (const uint8_t *)words, sizeof(words) };
    struct argument_point point;
    struct argument_scan *scan = argument_scan_create(&argument_machine_aarch64, ENTRY,
                                                      sizeof(words), code_at, &code);
    assert_non_null(scan);
    assert_true(argument_scan_before(scan, ENTRY + AFTER_CALL, &point));
    assert_int_equal(holder_of(&point, UINT32_MAX, X0), X19);
    assert_int_equal(holder_of(&point, UINT32_MAX, X19), -16);
    assert_int_equal(holder_of(&point, UINT32_MAX, X29), -32);
    assert_int_equal(point.state.places[SP].number, -32);
    assert_true(argument_scan_before(scan, ENTRY + AT_RETURN, &point));
    assert_int_equal(point.state.places[SP].number, 0);
    assert_int_equal(holder_of(&point, UINT32_MAX, X29), X29);
    argument_scan_destroy(scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_registers_of_aarch64_are_found),
        cmocka_unit_test(scan_proves_a_register_until_it_is_written),
        cmocka_unit_test(scan_counts_paths_that_go_back),
        cmocka_unit_test(scan_leaves_out_paths_that_do_not_lead_there),
        cmocka_unit_test(scan_takes_a_call_to_write_what_calls_need_not_keep),
        cmocka_unit_test(scan_takes_an_indirect_jump_to_go_anywhere),
        cmocka_unit_test(
            scan_takes_an_indirect_jump_to_stay_at_the_height_of_the_stack),
        cmocka_unit_test(scan_finds_a_copy_as_long_as_it_is_there),
        cmocka_unit_test(scan_distrusts_a_copy_that_is_written_again),
        cmocka_unit_test(scan_follows_a_copy_of_a_copy_as_far_as_it_is_wide),
        cmocka_unit_test(scan_finds_what_was_stored_in_the_frame_and_is_read_back),
        cmocka_unit_test(scan_distrusts_a_slot_that_is_not_read_back),
        cmocka_unit_test(scan_distrusts_slots_above_an_address_that_was_let_out),
        cmocka_unit_test(scan_distrusts_a_slot_that_is_written_in_part),
        cmocka_unit_test(scan_distrusts_what_a_repeated_instruction_has_half_done),
        cmocka_unit_test(scan_follows_code_outside_that_comes_back),
        cmocka_unit_test(scan_notes_that_a_function_is_entered_again),
        cmocka_unit_test(scan_says_what_a_call_passes),
        cmocka_unit_test(scan_proves_nothing_of_what_it_cannot_decode),
        cmocka_unit_test(scan_bears_code_that_is_cut_anywhere),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_scan", tests, NULL, NULL);
}
