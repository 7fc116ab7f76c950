// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_expression.h"

#include <dwarf.h>
#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum { ADDRESS = 0x1000, CFA = 0x1020, RDI = 5, RBX = 3 };

static const uint64_t words[] = { 0x1122334455667788, 42 };
static const struct fake_region region = { ADDRESS, words, sizeof(words) };

static enum ch_status evaluate(const Dwarf_Op *ops, size_t count,
                               struct argument_location *out)
{
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct argument_frame frame = { .known = 1 << RDI | 1 << RBX, .cfa = CFA };
    frame.registers.value[RDI] = ADDRESS;
    frame.registers.value[RBX] = 0xabcd;
    const struct argument_context context = { .frame = &frame,
                                              .memory = &reader,
                                              .has_frame_base = true,
                                              .frame_base = CFA,
                                              .bias = 0x400000 };
    return argument_expression_evaluate(&context, ops, count, out);
}

#define EVALUATE(out, ...)                                                             \
    evaluate((const Dwarf_Op[]){ __VA_ARGS__ },                                        \
             sizeof((const Dwarf_Op[]){ __VA_ARGS__ }) / sizeof(Dwarf_Op), out)

static void assert_place(const struct argument_location *location,
                         enum argument_place kind, uint64_t value)
{
    assert_int_equal(location->kind, kind);
    assert_int_equal(location->value, value);
}

static void expression_says_where_a_variable_is(void **state)
{
    (void)state;
    struct argument_location at;
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_fbreg, .number = (Dwarf_Word)-16 }),
                     CH_OK);
    assert_place(&at, ARGUMENT_IN_MEMORY, CFA - 16);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_call_frame_cfa }), CH_OK);
    assert_place(&at, ARGUMENT_IN_MEMORY, CFA);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_addr, .number = 0x1230 }), CH_OK);
    assert_place(&at, ARGUMENT_IN_MEMORY, 0x401230);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg5 }), CH_OK);
    assert_place(&at, ARGUMENT_IN_REGISTER, RDI);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_breg5, .number = 8 },
                              { .atom = DW_OP_deref, .offset = 2 },
                              { .atom = DW_OP_stack_value, .offset = 3 }),
                     CH_OK);
    assert_place(&at, ARGUMENT_IS_VALUE, 42);
}

static void expression_refuses_what_is_not_known(void **state)
{
    (void)state;
    struct argument_location at;
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg1 }), CH_ERR_NOT_FOUND);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_breg1 }), CH_ERR_NOT_FOUND);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_entry_value }), CH_ERR_NOT_FOUND);
    assert_int_equal(
        EVALUATE(&at, { .atom = DW_OP_lit0 }, { .atom = DW_OP_deref, .offset = 1 }),
        CH_ERR_FAULT);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_form_tls_address }),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_implicit_value }),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_plus }), CH_ERR_MALFORMED);
    assert_int_equal(
        EVALUATE(&at, { .atom = DW_OP_reg5 }, { .atom = DW_OP_reg5, .offset = 1 }),
        CH_ERR_UNSUPPORTED);
}

static void expression_puts_pieces_together(void **state)
{
    (void)state;
    struct argument_location at;
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg3 },
                              { .atom = DW_OP_piece, .number = 2, .offset = 1 },
                              { .atom = DW_OP_breg5, .offset = 3 },
                              { .atom = DW_OP_piece, .number = 4, .offset = 5 },
                              { .atom = DW_OP_lit7, .offset = 7 },
                              { .atom = DW_OP_stack_value, .offset = 8 },
                              { .atom = DW_OP_piece, .number = 1, .offset = 9 }),
                     CH_OK);
    assert_place(&at, ARGUMENT_IS_PIECES, 7);
    assert_memory_equal(at.pieces, "\xcd\xab\x88\x77\x66\x55\x07", 7);
}

static void expression_shows_no_value_of_which_a_piece_is_missing(void **state)
{
    (void)state;
    struct argument_location at;
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg3 },
                              { .atom = DW_OP_piece, .number = 8, .offset = 1 },
                              { .atom = DW_OP_piece, .number = 8, .offset = 3 }),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg3 },
                              { .atom = DW_OP_piece, .number = 9, .offset = 1 }),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_breg5 },
                              { .atom = DW_OP_piece, .number = 65, .offset = 2 }),
                     CH_ERR_UNSUPPORTED);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_reg3 },
                              { .atom = DW_OP_piece, .number = 8, .offset = 1 },
                              { .atom = DW_OP_reg3, .offset = 3 }),
                     CH_ERR_UNSUPPORTED);
}

static void expression_jumps_to_operations_and_nowhere_else(void **state)
{
    (void)state;
    struct argument_location at;
    // 0: lit1, 1: bra +1, 4: lit2, 5: lit3, 6: stack_value.
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_lit1 },
                              { .atom = DW_OP_bra, .number = 1, .offset = 1 },
                              { .atom = DW_OP_lit2, .offset = 4 },
                              { .atom = DW_OP_lit3, .offset = 5 },
                              { .atom = DW_OP_stack_value, .offset = 6 }),
                     CH_OK);
    assert_place(&at, ARGUMENT_IS_VALUE, 3);
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_skip, .number = 7 },
                              { .atom = DW_OP_lit2, .offset = 3 }),
                     CH_ERR_MALFORMED);
    // One that does not end: skip -3.
    assert_int_equal(EVALUATE(&at, { .atom = DW_OP_skip, .number = (Dwarf_Word)-3 }),
                     CH_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expression_says_where_a_variable_is),
        cmocka_unit_test(expression_refuses_what_is_not_known),
        cmocka_unit_test(expression_puts_pieces_together),
        cmocka_unit_test(expression_shows_no_value_of_which_a_piece_is_missing),
        cmocka_unit_test(expression_jumps_to_operations_and_nowhere_else),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_expression", tests, NULL,
                                       NULL);
}
