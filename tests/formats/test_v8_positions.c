// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/v8_positions.h"

#include <stdbool.h>
#include <stdlib.h>

#include "support/bytes.h"
#include "support/test.h"

// Of optimized code of V8 11.3, `function outer(x) { return inner(x) + 1; }`: from 0 on
// character 97, from 39 on 109, and so on.
static const uint8_t table[] = { 0x03, 0x88, 0x03, 0x4f, 0x30, 0x65,
                                 0x20, 0x31, 0x0c, 0x43, 0x5b };

static int64_t character_at(const void *bytes, size_t size, int64_t offset)
{
    struct v8_position position;
    enum ch_status status = v8_positions_find(bytes, size, offset, &position);
    return status == CH_OK ? position.offset : -(int64_t)status;
}

static void the_last_entry_up_to_an_offset_counts(void **state)
{
    (void)state;
    assert_int_equal(character_at(table, sizeof(table), 0), 97);
    assert_int_equal(character_at(table, sizeof(table), 38), 97);
    assert_int_equal(character_at(table, sizeof(table), 39), 109);
    assert_int_equal(character_at(table, sizeof(table), 89), 117);
}

static void before_the_first_entry_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(character_at(table, sizeof(table), -1), -CH_ERR_NOT_FOUND);
    assert_int_equal(character_at(NULL, 0, 0), -CH_ERR_NOT_FOUND);
}

static void a_position_says_what_was_inlined(void **state)
{
    (void)state;
    struct v8_position own = v8_position_unpack(98 << 1);
    struct v8_position inlined = v8_position_unpack(UINT64_C(3) << 31 | 98 << 1);
    struct v8_position external = v8_position_unpack(98 << 1 | 1);
    assert_int_equal(own.offset, 97);
    assert_int_equal(own.inlined, -1);
    assert_int_equal(inlined.offset, 97);
    assert_int_equal(inlined.inlined, 2);
    assert_int_equal(external.offset, -1);
}

// read_positions is a bytes_visit_fn.
static int read_positions(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    for (int64_t offset = -2; offset < 100; offset++)
        (void)character_at(bytes, size, offset);
    return 0;
}

static void damaged_tables_are_survived(void **state)
{
    (void)state;
    static const uint8_t endless[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0x80, 0x01 };
    assert_int_equal(bytes_cut_everywhere(table, sizeof(table), read_positions, NULL),
                     0);
    assert_int_equal(bytes_flip_every_bit(table, sizeof(table), read_positions, NULL),
                     0);
    assert_int_equal(character_at(endless, sizeof(endless), 0), -CH_ERR_MALFORMED);
}

// Kinds of bytecodes: prefixes 0 to 3, then of 1, 2 and 4 bytes, the last twice and
// four times as wide after a prefix.
static const uint8_t sizes[] = { 1, 1, 1, 1, 1, 2, 4, 1, 1, 1, 1,
                                 1, 3, 7, 1, 1, 1, 1, 1, 5, 13 };
// 4; 5 x; wide 5 xx; 6 xxx
static const uint8_t bytecodes[] = { 4, 5, 9, 0, 5, 9, 9, 6, 9, 9, 9 };
static const uint8_t baseline_table[] = { 10, 0x80, 0x01, 4, 5, 6 };

static int64_t bytecode_at(size_t table_size, size_t size, uint64_t pc)
{
    uint8_t *copy = malloc(size != 0 ? size : 1); // so that sanitizers see its end
    int64_t offset = 0;
    if (copy == NULL)
        return INT64_MIN;
    memcpy(copy, bytecodes, size);
    const struct v8_baseline baseline = { .table = baseline_table,
                                          .table_size = table_size,
                                          .bytecodes = copy,
                                          .bytecodes_size = size,
                                          .sizes = sizes,
                                          .count = 7 };
    enum ch_status status = v8_baseline_find(&baseline, pc, &offset);
    free(copy);
    return status == CH_OK ? offset : -1000 - (int64_t)status;
}

static void baseline_code_is_found_by_the_sizes_of_what_was_made(void **state)
{
    (void)state;
    const size_t whole = sizeof(baseline_table);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 1), -1);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10), -1);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 11), 0);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10 + 128), 0);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10 + 129), 1);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10 + 133), 3);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10 + 138), 7);
    assert_int_equal(bytecode_at(whole, sizeof(bytecodes), 10 + 144),
                     -1000 - CH_ERR_NOT_FOUND);
}

static void baseline_tables_may_be_cut(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= sizeof(baseline_table); cut++)
        for (size_t size = 0; size <= sizeof(bytecodes); size++)
            for (uint64_t pc = 0; pc < 160; pc++) {
                int64_t found = bytecode_at(cut, size, pc);
                assert_true(found < (int64_t)size || found < -1000);
            }
}

// Of code of V8 11.3: two calls, whose return addresses are 0x59 and 0xbb from its
// start, or 0xc9 and 0xcd once it is not to be used any more.
static const uint8_t safepoints[] = { 2, 0,    0, 0,    0x91, 4, 0,
                                      0, 0x59, 3, 0xca, 0xbb, 4, 0xce };

static uint64_t safepoint_at(size_t size, uint64_t trampoline)
{
    uint64_t pc = 0;
    uint8_t *copy = malloc(size != 0 ? size : 1); // so that sanitizers see its end
    if (copy == NULL)
        return 1;
    memcpy(copy, safepoints, size);
    bool found = v8_safepoints_find(copy, size, trampoline, &pc) == CH_OK;
    free(copy);
    return found ? pc : 0;
}

static void a_return_address_that_was_replaced_is_found(void **state)
{
    (void)state;
    assert_int_equal(v8_safepoints_size(safepoints), sizeof(safepoints));
    assert_int_equal(safepoint_at(sizeof(safepoints), 0xc9), 0x59);
    assert_int_equal(safepoint_at(sizeof(safepoints), 0xcd), 0xbb);
    assert_int_equal(safepoint_at(sizeof(safepoints), 0x59), 0);
    for (size_t size = 0; size < sizeof(safepoints); size++)
        assert_int_equal(safepoint_at(size, 0xcd), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_entry_up_to_an_offset_counts),
        cmocka_unit_test(before_the_first_entry_there_is_none),
        cmocka_unit_test(a_position_says_what_was_inlined),
        cmocka_unit_test(damaged_tables_are_survived),
        cmocka_unit_test(baseline_code_is_found_by_the_sizes_of_what_was_made),
        cmocka_unit_test(baseline_tables_may_be_cut),
        cmocka_unit_test(a_return_address_that_was_replaced_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
