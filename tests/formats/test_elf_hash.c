// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf_hash.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static void elf_hash_of_names_is_that_of_binutils(void **state)
{
    (void)state;
    // Bernstein's hash: 33 times what is there and the next character, from 5381 on.
    assert_int_equal(elf_hash_name(""), 0x1505);
    assert_int_equal(elf_hash_name("printf"), 0x156b2bb8);
    assert_int_equal(elf_hash_name("exit"), 0x7c967e3f);
    assert_int_equal(elf_hash_name("flapenguin.me"), 0x8ae9f18e);
}

// Three buckets, symbols from 5 on, two words of filter.
static const uint8_t header[ELF_HASH_HEADER_BYTES] = { 3, 0, 0, 0, 5, 0, 0, 0,
                                                       2, 0, 0, 0, 6, 0, 0, 0 };

static void elf_hash_table_says_where_its_words_are(void **state)
{
    (void)state;
    struct elf_hash_table table;
    assert_int_equal(elf_hash_read_table(header, sizeof(header), false, &table), CH_OK);
    assert_int_equal(table.bucket_count, 3);
    assert_int_equal(table.first_symbol, 5);
    assert_int_equal(elf_hash_bucket(&table, 7), 16 + 2 * 8 + 1 * 4);
    assert_int_equal(elf_hash_chain(&table, 6), 16 + 2 * 8 + 3 * 4 + 1 * 4);
}

static void elf_hash_table_without_buckets_is_none(void **state)
{
    (void)state;
    struct elf_hash_table table;
    static const uint8_t none[ELF_HASH_HEADER_BYTES] = { 0, 0, 0, 0, 1 };
    assert_int_equal(elf_hash_read_table(none, sizeof(none), false, &table),
                     CH_ERR_MALFORMED);
}

static void elf_hash_symbol_is_read_in_either_byte_order(void **state)
{
    (void)state;
    struct elf_hash_symbol symbol;
    static const uint8_t little[ELF_HASH_SYMBOL_BYTES] = { 9, 0, 0, 0,    0x12, 0,
                                                           7, 0, 0, 0x10, 0,    0,
                                                           0, 0, 0, 0,    0x20 };
    static const uint8_t big[ELF_HASH_SYMBOL_BYTES] = { 0, 0, 0, 9, 0x12, 0, 0,   0,
                                                        0, 0, 0, 0, 0,    0, 0x10 };
    assert_int_equal(elf_hash_read_symbol(little, sizeof(little), false, &symbol),
                     CH_OK);
    assert_int_equal(symbol.name, 9);
    assert_int_equal(symbol.value, 0x1000);
    assert_int_equal(symbol.size, 0x20);
    assert_true(symbol.defined);
    assert_int_equal(elf_hash_read_symbol(big, sizeof(big), true, &symbol), CH_OK);
    assert_int_equal(symbol.name, 9);
    assert_int_equal(symbol.value, 0x1000);
    assert_false(symbol.defined);
}

static void elf_hash_survives_every_truncation(void **state)
{
    (void)state;
    for (size_t size = 0; size < ELF_HASH_SYMBOL_BYTES; size++) {
        struct elf_hash_table table;
        struct elf_hash_symbol symbol;
        uint8_t *bytes = calloc(1, size + 1);
        memcpy(bytes, header, size < sizeof(header) ? size : sizeof(header));
        enum ch_status of_table = elf_hash_read_table(bytes, size, false, &table);
        enum ch_status of_symbol = elf_hash_read_symbol(bytes, size, false, &symbol);
        free(bytes);
        assert_int_equal(of_table, size < sizeof(header) ? CH_ERR_TRUNCATED : CH_OK);
        assert_int_equal(of_symbol, CH_ERR_TRUNCATED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elf_hash_of_names_is_that_of_binutils),
        cmocka_unit_test(elf_hash_table_says_where_its_words_are),
        cmocka_unit_test(elf_hash_table_without_buckets_is_none),
        cmocka_unit_test(elf_hash_symbol_is_read_in_either_byte_order),
        cmocka_unit_test(elf_hash_survives_every_truncation),
    };
    return cmocka_run_group_tests_name("formats/elf_hash", tests, NULL, NULL);
}
