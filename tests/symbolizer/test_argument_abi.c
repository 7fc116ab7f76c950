// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_ctf.h"

#include "support/test.h"

// A table of the types that the tests pass, by these indexes.
enum {
    INT = 1,
    LONG,
    DOUBLE,
    LONG_DOUBLE,
    VOID,
    FORWARD,
    BIG,       // struct { long x[5]; }
    PAIR,      // struct { int a; int b; }
    TWO_WORDS, // struct { long a; long b; }
    POINT,     // struct { double x; double y; }
    HUGE_INT,  // __int128
    PACKED,    // struct { char c; int i; }, packed
    TYPE_COUNT,
};

static struct type_table table;

static void add(const struct type *type)
{
    uint32_t index;
    assert_int_equal(type_table_add(&table, type, &index), CH_OK);
}

static void add_structure(uint64_t size, const struct type_part *parts, size_t count)
{
    struct type type = { .kind = TYPE_STRUCT,
                         .name = "s",
                         .size = size,
                         .first_part = table.part_count,
                         .part_count = (uint32_t)count };
    for (size_t i = 0; i < count; i++)
        assert_int_equal(type_table_add_part(&table, &parts[i]), CH_OK);
    add(&type);
}

static int make_table(void **state)
{
    (void)state;
    const struct type plain[] = {
        { .kind = TYPE_INTEGER, .name = "int", .size = 4, .encoding = TYPE_SIGNED },
        { .kind = TYPE_INTEGER, .name = "long int", .size = 8 },
        { .kind = TYPE_FLOAT, .name = "double", .size = 8 },
        { .kind = TYPE_FLOAT, .name = "long double", .size = 16 },
        { .kind = TYPE_INTEGER, .name = "void" },
        { .kind = TYPE_FORWARD, .name = "peer", .tag = TYPE_STRUCT },
    };
    if (type_table_init(&table) != CH_OK)
        return 1;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        add(&plain[i]);
    add_structure(40, &(struct type_part){ "x", LONG, 0, 0, 0 }, 1);
    add_structure(
        8, (struct type_part[]){ { "a", INT, 0, 0, 0 }, { "b", INT, 32, 0, 0 } }, 2);
    add_structure(
        16, (struct type_part[]){ { "a", LONG, 0, 0, 0 }, { "b", LONG, 64, 0, 0 } }, 2);
    add_structure(
        16, (struct type_part[]){ { "x", DOUBLE, 0, 0, 0 }, { "y", DOUBLE, 64, 0, 0 } },
        2);
    add(&(struct type){ .kind = TYPE_INTEGER, .name = "__int128", .size = 16 });
    add_structure(5, (struct type_part[]){ { "c", INT, 8, 0, 0 } }, 1);
    return table.count == TYPE_COUNT ? 0 : 1;
}

static int drop_table(void **state)
{
    (void)state;
    type_table_deinit(&table);
    return 0;
}

static void begin(struct argument_abi *abi, enum unwind_arch_id arch, uint32_t result)
{
    assert_true(argument_abi_init(abi, &table, arch, result));
}

static void expect(struct argument_abi *abi, uint32_t type, enum argument_class kind,
                   uint64_t where)
{
    struct argument_abi_place place = argument_abi_next(abi, type);
    assert_int_equal(place.kind, kind);
    if (kind == ARGUMENT_GENERAL || kind == ARGUMENT_VECTOR)
        assert_int_equal(place.registers[0], where);
    if (kind == ARGUMENT_ON_STACK)
        assert_int_equal(place.offset, where);
}

static void abi_passes_six_words_in_registers_and_the_rest_on_the_stack(void **state)
{
    (void)state;
    static const uint8_t registers[] = { 5, 4, 1, 2, 8, 9 }; // rdi rsi rdx rcx r8 r9
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, VOID);
    for (size_t i = 0; i < 6; i++)
        expect(&abi, i % 2 != 0 ? INT : LONG, ARGUMENT_GENERAL, registers[i]);
    expect(&abi, INT, ARGUMENT_ON_STACK, 0);
    expect(&abi, LONG, ARGUMENT_ON_STACK, 8);
}

static void abi_counts_vector_registers_apart(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, INT);
    expect(&abi, DOUBLE, ARGUMENT_VECTOR, 17);
    expect(&abi, INT, ARGUMENT_GENERAL, 5);
    expect(&abi, POINT, ARGUMENT_SPLIT, 0);
    expect(&abi, DOUBLE, ARGUMENT_VECTOR, 20);
    expect(&abi, INT, ARGUMENT_GENERAL, 4);
}

static void abi_puts_large_structures_and_long_doubles_on_the_stack(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, VOID);
    expect(&abi, PACKED, ARGUMENT_ON_STACK, 0);
    expect(&abi, LONG_DOUBLE, ARGUMENT_ON_STACK, 16);
    expect(&abi, BIG, ARGUMENT_ON_STACK, 32);
    expect(&abi, INT, ARGUMENT_GENERAL, 5);
}

static void abi_splits_what_takes_two_registers(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, VOID);
    expect(&abi, TWO_WORDS, ARGUMENT_SPLIT, 0);
    expect(&abi, PAIR, ARGUMENT_GENERAL, 1);
    expect(&abi, HUGE_INT, ARGUMENT_SPLIT, 0);
    expect(&abi, TWO_WORDS, ARGUMENT_ON_STACK, 0); // one register is left, it takes two
    expect(&abi, INT, ARGUMENT_GENERAL, 9);
}

static void abi_gives_the_first_register_to_a_large_result(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, BIG);
    expect(&abi, INT, ARGUMENT_GENERAL, 4);
    begin(&abi, UNWIND_ARCH_AMD64, PAIR);
    expect(&abi, INT, ARGUMENT_GENERAL, 5);
}

static void abi_places_nothing_after_what_it_does_not_know(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AMD64, VOID);
    expect(&abi, INT, ARGUMENT_GENERAL, 5);
    expect(&abi, FORWARD, ARGUMENT_UNPLACED, 0);
    expect(&abi, INT, ARGUMENT_UNPLACED, 0);
    begin(&abi, UNWIND_ARCH_AMD64, FORWARD);
    expect(&abi, INT, ARGUMENT_UNPLACED, 0);
}

static void
aarch64_passes_eight_words_in_registers_and_the_rest_on_the_stack(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AARCH64, BIG); // its address is in x8
    for (unsigned i = 0; i < 7; i++)
        expect(&abi, INT, ARGUMENT_GENERAL, i);
    expect(&abi, TWO_WORDS, ARGUMENT_ON_STACK, 0); // one register is left
    expect(&abi, INT, ARGUMENT_ON_STACK, 16);      // and it stays unused
    expect(&abi, DOUBLE, ARGUMENT_VECTOR, 64);
}

static void aarch64_passes_large_structures_by_their_address(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AARCH64, VOID);
    struct argument_abi_place place = argument_abi_next(&abi, BIG);
    assert_int_equal(place.kind, ARGUMENT_GENERAL);
    assert_true(place.indirect);
    expect(&abi, PACKED, ARGUMENT_GENERAL, 1);
    expect(&abi, HUGE_INT, ARGUMENT_SPLIT, 0); // x2 and x3
    expect(&abi, INT, ARGUMENT_GENERAL, 4);
    expect(&abi, HUGE_INT, ARGUMENT_SPLIT, 0); // x6 and x7: it begins with an even one
    place = argument_abi_next(&abi, BIG);
    assert_int_equal(place.kind, ARGUMENT_ON_STACK);
    assert_true(place.indirect);
    expect(&abi, HUGE_INT, ARGUMENT_ON_STACK, 16);
}

static void
aarch64_passes_members_of_one_floating_type_in_vector_registers(void **state)
{
    (void)state;
    struct argument_abi abi;
    begin(&abi, UNWIND_ARCH_AARCH64, VOID);
    expect(&abi, POINT, ARGUMENT_SPLIT, 0); // v0 and v1
    for (unsigned i = 2; i < 7; i++)
        expect(&abi, i % 2 != 0 ? DOUBLE : LONG_DOUBLE, ARGUMENT_VECTOR, 64 + i);
    expect(&abi, POINT, ARGUMENT_ON_STACK, 0);
    expect(&abi, DOUBLE, ARGUMENT_ON_STACK, 16); // v7 stays unused
    expect(&abi, LONG_DOUBLE, ARGUMENT_ON_STACK, 32);
    expect(&abi, INT, ARGUMENT_GENERAL, 0);
    expect(&abi, FORWARD, ARGUMENT_UNPLACED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            aarch64_passes_eight_words_in_registers_and_the_rest_on_the_stack),
        cmocka_unit_test(aarch64_passes_large_structures_by_their_address),
        cmocka_unit_test(
            aarch64_passes_members_of_one_floating_type_in_vector_registers),
        cmocka_unit_test(abi_passes_six_words_in_registers_and_the_rest_on_the_stack),
        cmocka_unit_test(abi_counts_vector_registers_apart),
        cmocka_unit_test(abi_puts_large_structures_and_long_doubles_on_the_stack),
        cmocka_unit_test(abi_splits_what_takes_two_registers),
        cmocka_unit_test(abi_gives_the_first_register_to_a_large_result),
        cmocka_unit_test(abi_places_nothing_after_what_it_does_not_know),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_abi", tests, make_table,
                                       drop_table);
}
