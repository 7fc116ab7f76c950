// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/btf.h"

#include "support/byte_builder.h"
#include "support/bytes.h"
#include "support/test.h"

// The strings of the types that build makes.
static const char strings[] = "\0int\0pair\0first\0bits\0run";

enum { AT_INT = 1, AT_PAIR = 5, AT_FIRST = 10, AT_BITS = 16, AT_RUN = 21 };

static uint32_t info(enum btf_kind kind, uint32_t parts, bool flag)
{
    return (uint32_t)flag << 31 | (uint32_t)kind << 24 | parts;
}

static void build(struct byte_builder *b, bool big_endian)
{
    const uint32_t types[] = {
        // 1 int
        AT_INT,
        info(BTF_INTEGER, 0, false),
        4,
        1 << 24 | 32,
        // 2 struct pair { int first; int bits : 3; }
        AT_PAIR,
        info(BTF_STRUCT, 2, true),
        8,
        AT_FIRST,
        1,
        0,
        AT_BITS,
        1,
        3 << 24 | 32,
        // 3 struct pair *
        0,
        info(BTF_POINTER, 0, false),
        2,
        // 4 int (struct pair *first, ...)
        0,
        info(BTF_PROTOTYPE, 2, false),
        1,
        AT_FIRST,
        3,
        0,
        0,
        // 5 the function run, of type 4
        AT_RUN,
        info(BTF_FUNCTION, 1, false),
        4,
    };
    *b = (struct byte_builder){ .big_endian = big_endian };
    byte_builder_uint(b, 0xeb9f, 2);
    byte_builder_uint(b, 1, 1);
    byte_builder_uint(b, 0, 1);
    byte_builder_uint(b, 24, 4);
    byte_builder_uint(b, 0, 4);
    byte_builder_uint(b, sizeof(types), 4);
    byte_builder_uint(b, sizeof(types), 4);
    byte_builder_uint(b, sizeof(strings), 4);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        byte_builder_uint(b, types[i], 4);
    byte_builder_bytes(b, (const uint8_t *)strings, sizeof(strings));
}

static void types_are_read_in_both_byte_orders(void **state)
{
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        struct byte_builder b;
        struct btf btf;
        struct btf_type type[5];
        struct btf_part part;
        build(&b, big_endian != 0);
        assert_int_equal(btf_init(&btf, cursor_over(b.bytes, b.size), NULL), CH_OK);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(btf_next_type(&btf, &type[i]), CH_OK);
        assert_int_equal(btf_next_type(&btf, &type[0]), CH_END);
        assert_string_equal(type[0].name, "int");
        assert_int_equal(type[0].size, 4);
        assert_int_equal(type[0].bits, 32);
        assert_int_equal(type[0].encoding, BTF_SIGNED);
        assert_int_equal(btf_next_part(&btf, &type[1], &part), CH_OK);
        assert_int_equal(btf_next_part(&btf, &type[1], &part), CH_OK);
        assert_string_equal(part.name, "bits");
        assert_int_equal(part.offset_bits, 32);
        assert_int_equal(part.bits, 3);
        assert_int_equal(btf_next_part(&btf, &type[1], &part), CH_END);
        assert_int_equal(type[2].reference, 2);
        assert_int_equal(type[3].part_count, 2);
        assert_string_equal(type[4].name, "run");
        assert_int_equal(type[4].reference, 4);
    }
}

static void split_btf_continues_the_strings_of_its_base(void **state)
{
    (void)state;
    struct byte_builder b;
    struct byte_builder split = { .big_endian = false };
    struct btf base;
    struct btf btf;
    struct btf_type own;
    struct btf_type shared;
    const uint32_t types[] = {
        sizeof(strings) + 1,
        info(BTF_TYPEDEF, 0, false),
        2, // its own name
        AT_PAIR,
        info(BTF_TYPEDEF, 0, false),
        2, // one of the base's
    };
    build(&b, false);
    byte_builder_uint(&split, 0x1eb9f, 4);
    byte_builder_uint(&split, 24, 4);
    byte_builder_uint(&split, 0, 4);
    byte_builder_uint(&split, sizeof(types), 4);
    byte_builder_uint(&split, sizeof(types), 4);
    byte_builder_uint(&split, 5, 4);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        byte_builder_uint(&split, types[i], 4);
    byte_builder_bytes(&split, (const uint8_t *)"\0own", 5);
    assert_int_equal(btf_init(&base, cursor_over(b.bytes, b.size), NULL), CH_OK);
    assert_int_equal(btf_init(&btf, cursor_over(split.bytes, split.size), &base),
                     CH_OK);
    assert_int_equal(btf_next_type(&btf, &own), CH_OK);
    assert_int_equal(btf_next_type(&btf, &shared), CH_OK);
    assert_string_equal(own.name, "own");
    assert_string_equal(shared.name, "pair");
}

static int read_all(const uint8_t *bytes, size_t size, void *context)
{
    struct btf btf;
    struct btf_type type;
    struct btf_part part;
    size_t count = 0;
    (void)context;
    if (btf_init(&btf, cursor_over(bytes, size), NULL) != CH_OK)
        return 0;
    while (btf_next_type(&btf, &type) == CH_OK) {
        while (btf_next_part(&btf, &type, &part) == CH_OK)
            ;
        count++;
    }
    return count > size / 12;
}

static void damage_is_survived(void **state)
{
    (void)state;
    struct byte_builder b;
    build(&b, false);
    assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, read_all, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, read_all, NULL), 0);
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    struct byte_builder b;
    struct btf btf;
    struct btf_type type;
    build(&b, false);
    b.bytes[2] = 2; // another version
    assert_int_equal(btf_init(&btf, cursor_over(b.bytes, b.size), NULL),
                     CH_ERR_UNSUPPORTED);
    b.bytes[0] = 0; // another magic
    assert_int_equal(btf_init(&btf, cursor_over(b.bytes, b.size), NULL),
                     CH_ERR_NOT_FOUND);
    build(&b, false);
    b.bytes[24 + 7] = 31; // a kind there is not
    assert_int_equal(btf_init(&btf, cursor_over(b.bytes, b.size), NULL), CH_OK);
    assert_int_equal(btf_next_type(&btf, &type), CH_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_read_in_both_byte_orders),
        cmocka_unit_test(split_btf_continues_the_strings_of_its_base),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
