// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/ctf.h"

#include <stdlib.h>
#include <zlib.h>

#include "support/bytes.h"
#include "support/ctf_builder.h"
#include "support/test.h"

static const struct ctf_outside nothing;

static enum ch_status open_built(struct ctf_dict *dict, const struct byte_builder *b)
{
    return ctf_dict_open(dict, cursor_over(b->bytes, b->size), &nothing, &nothing);
}

// compress_built replaces what follows the header by its compressed form.
static void compress_built(struct byte_builder *b)
{
    uint8_t packed[4096];
    uLongf size = sizeof(packed);
    int result = compress(packed, &size, b->bytes + CTF_BUILT_HEADER,
                          b->size - CTF_BUILT_HEADER);
    assert_int_equal(result, Z_OK);
    b->size = CTF_BUILT_HEADER;
    byte_builder_bytes(b, packed, size);
    b->bytes[3] |= 1;
}

static void check_built(const struct byte_builder *b)
{
    struct ctf_dict dict;
    struct ctf_type pair;
    struct ctf_part first;
    struct ctf_part bits;
    struct ctf_type slice;
    struct ctf_type function;
    assert_int_equal(open_built(&dict, b), CH_OK);
    assert_int_equal(dict.type_count, CTF_BUILT_TYPES);
    assert_int_equal(ctf_dict_type(&dict, CTF_BUILT_STRUCT, &pair), CH_OK);
    assert_int_equal(ctf_next_part(&dict, &pair, &first), CH_OK);
    assert_int_equal(ctf_next_part(&dict, &pair, &bits), CH_OK);
    assert_int_equal(ctf_next_part(&dict, &pair, &bits), CH_END);
    assert_int_equal(ctf_dict_type(&dict, bits.type, &slice), CH_OK);
    assert_int_equal(ctf_dict_type(&dict, 5, &function), CH_OK);
    bool named = strcmp(pair.name, "pair") == 0 && strcmp(first.name, "first") == 0;
    ctf_dict_close(&dict);

    assert_true(named);
    assert_int_equal(pair.size, 8);
    assert_int_equal(first.type, 1);
    assert_int_equal(bits.offset_bits, 32);
    assert_int_equal(slice.bits, 3);
    assert_int_equal(function.part_count, 2);
}

static void ctf_reads_types_and_their_parts(void **state)
{
    (void)state;
    struct byte_builder b;
    ctf_builder_build(&b, false, 2);
    check_built(&b);
}

static void ctf_reads_the_other_byte_order(void **state)
{
    (void)state;
    struct byte_builder b;
    ctf_builder_build(&b, true, 2);
    check_built(&b);
}

static void ctf_inflates_a_compressed_dictionary(void **state)
{
    (void)state;
    struct byte_builder b;
    ctf_builder_build(&b, false, 2);
    compress_built(&b);
    check_built(&b);
}

static void ctf_names_what_has_a_type(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    struct ctf_symbols symbols;
    struct ctf_symbol run;
    struct ctf_symbol word;
    ctf_builder_build(&b, false, 2);
    assert_int_equal(open_built(&dict, &b), CH_OK);
    ctf_symbols_init(&symbols, &dict);
    assert_int_equal(ctf_next_symbol(&symbols, &run), CH_OK);
    assert_int_equal(ctf_next_symbol(&symbols, &word), CH_OK);
    assert_int_equal(ctf_next_symbol(&symbols, &word), CH_END);
    bool named = strcmp(run.name, "run") == 0 && strcmp(word.name, "word") == 0;
    ctf_dict_close(&dict);
    assert_true(named);
    assert_int_equal(run.type, 5);
}

static void ctf_does_not_inflate_beyond_what_the_header_says(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    ctf_builder_build(&b, false, 2);
    compress_built(&b);
    b.bytes[48] -= 4; // the size of the strings
    enum ch_status less = open_built(&dict, &b);
    ctf_dict_close(&dict);
    b.bytes[48] += 4;
    b.bytes[50] = 0xff; // 16 MB out of 300 bytes
    enum ch_status ratio = open_built(&dict, &b);
    ctf_dict_close(&dict);
    b.bytes[51] = 0x7f;
    enum ch_status limit = open_built(&dict, &b);
    ctf_dict_close(&dict);
    assert_int_equal(less, CH_ERR_MALFORMED);
    assert_int_equal(ratio, CH_ERR_MALFORMED);
    assert_int_equal(limit, CH_ERR_LIMIT);
}

static void ctf_refuses_versions_and_kinds_it_does_not_know(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    ctf_builder_build(&b, false, 2);
    b.bytes[2] = 6;
    enum ch_status version = open_built(&dict, &b);
    ctf_dict_close(&dict);
    ctf_builder_build(&b, false, 2);
    b.bytes[CTF_BUILT_HEADER + 16 + 7] = 15 << 2; // the first type's kind
    enum ch_status kind = open_built(&dict, &b);
    ctf_dict_close(&dict);
    assert_int_equal(version, CH_ERR_UNSUPPORTED);
    assert_int_equal(kind, CH_ERR_UNSUPPORTED);
}

static void ctf_leaves_functions_of_the_old_form_alone(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    ctf_builder_build(&b, false, 0);
    enum ch_status status = open_built(&dict, &b);
    size_t left = cursor_left(&dict.sections[CTF_FUNCTIONS]);
    ctf_dict_close(&dict);
    assert_int_equal(status, CH_OK);
    assert_int_equal(left, 0);
}

// visit_all reads whatever the damaged dictionary still has.
static int visit_all(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct ctf_dict dict;
    struct ctf_symbols symbols;
    struct ctf_symbol symbol;
    enum ch_status status =
        ctf_dict_open(&dict, cursor_over(bytes, size), &nothing, &nothing);
    for (uint32_t i = 1; status == CH_OK && i <= dict.type_count; i++) {
        struct ctf_type type;
        struct ctf_part part;
        if (ctf_dict_type(&dict, i, &type) != CH_OK)
            continue;
        while (ctf_next_part(&dict, &type, &part) == CH_OK)
            status = part.name != NULL ? CH_OK : CH_ERR_IO;
    }
    ctf_symbols_init(&symbols, &dict);
    while (status == CH_OK && ctf_next_symbol(&symbols, &symbol) == CH_OK)
        status = symbol.name != NULL ? CH_OK : CH_ERR_IO;
    ctf_dict_close(&dict);
    return status == CH_ERR_IO;
}

static void ctf_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    struct byte_builder b;
    ctf_builder_build(&b, false, 2);
    int failures = bytes_cut_everywhere(b.bytes, b.size, visit_all, NULL);
    failures += bytes_flip_every_bit(b.bytes, b.size, visit_all, NULL);
    compress_built(&b);
    failures += bytes_cut_everywhere(b.bytes, b.size, visit_all, NULL);
    failures += bytes_flip_every_bit(b.bytes, b.size, visit_all, NULL);
    assert_int_equal(failures, 0);
}

static void ctf_says_that_a_cut_dictionary_is_cut(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    ctf_builder_build(&b, false, 2);
    b.size -= 1;
    enum ch_status status = open_built(&dict, &b);
    ctf_dict_close(&dict);
    assert_int_equal(status, CH_ERR_TRUNCATED);
}

// An old dictionary, of Solaris: 1 int, 2 struct pair { int first; int second; }, 3
// struct pair *, 4 int [4], and the function of one symbol, int (struct pair *).
static void build_old(struct byte_builder *b, unsigned version, bool big_endian)
{
    static const char names[] = "\0int\0pair\0first\0second";
    const unsigned kind = version == 1 ? 12 : 11;
    const unsigned root = version == 1 ? 1u << 11 : 1u << 10;
    const uint32_t types_size = 12 + 8 + 16 + 8 + 16;
    *b = (struct byte_builder){ .big_endian = big_endian };
    byte_builder_uint(b, 0xcff1, 2);
    byte_builder_uint(b, version, 1);
    byte_builder_uint(b, 0, 1);
    const uint32_t header[] = {
        0, 0, 0, 8, 8, 14, 14 + types_size, sizeof(names), 5, 4
    }; // the label: types up to 4
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
        byte_builder_uint(b, header[i], 4);
    byte_builder_uint(b, 5u << kind | 1, 2); // the function: one argument
    byte_builder_uint(b, 1, 2);
    byte_builder_uint(b, 3, 2);
    byte_builder_uint(b, 1, 4); // int
    byte_builder_uint(b, 1u << kind | root, 2);
    byte_builder_uint(b, 4, 2);
    byte_builder_uint(b, 0x01000020, 4);
    byte_builder_uint(b, 5, 4); // struct pair
    byte_builder_uint(b, 6u << kind | root | 2, 2);
    byte_builder_uint(b, 8, 2);
    for (unsigned i = 0; i < 2; i++) {
        byte_builder_uint(b, i == 0 ? 10 : 16, 4);
        byte_builder_uint(b, 1, 2);
        byte_builder_uint(b, i * 32, 2);
    }
    byte_builder_uint(b, 0, 4); // struct pair *
    byte_builder_uint(b, 3u << kind | root, 2);
    byte_builder_uint(b, 2, 2);
    byte_builder_uint(b, 0, 4); // int [4]
    byte_builder_uint(b, 4u << kind | root, 2);
    byte_builder_uint(b, 0, 2);
    byte_builder_uint(b, 1, 2);
    byte_builder_uint(b, 1, 2);
    byte_builder_uint(b, 4, 4);
    byte_builder_bytes(b, (const uint8_t *)names, sizeof(names));
}

static void check_old(const struct byte_builder *b)
{
    struct ctf_dict dict;
    struct ctf_type type[5];
    struct ctf_part part[2];
    struct ctf_label label;
    int wrong = open_built(&dict, b) != CH_OK;
    struct cursor labels = dict.labels;
    wrong += dict.type_count != 5;
    for (uint32_t i = 0; i < 5 && wrong == 0; i++)
        wrong += ctf_dict_type(&dict, i + 1, &type[i]) != CH_OK;
    for (size_t i = 0; i < 2 && wrong == 0; i++)
        wrong += ctf_next_part(&dict, &type[1], &part[i]) != CH_OK;
    wrong = wrong != 0 || strcmp(type[1].name, "pair") != 0 ||
            strcmp(part[1].name, "second") != 0 || part[1].offset_bits != 32 ||
            part[1].type != 1 || type[1].size != 8 || type[2].reference != 2 ||
            type[3].count != 4 || type[4].kind != CTF_FUNCTION ||
            type[4].part_count != 1 || type[4].reference != 1 ||
            ctf_next_label(&dict, &labels, &label) != CH_OK ||
            strcmp(label.name, "pair") != 0 || label.last_type != 4 ||
            ctf_next_label(&dict, &labels, &label) != CH_END ||
            ctf_next_part(&dict, &type[4], &part[0]) != CH_OK || part[0].type != 3;
    ctf_dict_close(&dict);
    assert_int_equal(wrong, 0);
}

static void ctf_reads_versions_1_and_2_in_both_byte_orders(void **state)
{
    (void)state;
    struct byte_builder b;
    for (unsigned i = 0; i < 4; i++) {
        build_old(&b, 1 + i / 2, i % 2 != 0);
        check_old(&b);
    }
    // libctf's own magic and version 1 have the bits of Solaris' version 2.
    build_old(&b, 2, false);
    b.bytes[0] = 0xf2;
    b.bytes[1] = 0xdf;
    b.bytes[2] = 1;
    check_old(&b);
}

static void ctf_inflates_an_old_dictionary(void **state)
{
    (void)state;
    struct byte_builder b;
    uint8_t packed[1024];
    uLongf size = sizeof(packed);
    build_old(&b, 2, false);
    assert_int_equal(compress(packed, &size, b.bytes + 36, b.size - 36), Z_OK);
    b.size = 36;
    b.bytes[3] = 1;
    byte_builder_bytes(&b, packed, size);
    check_old(&b);
}

static void ctf_reads_libctfs_version_2(void **state)
{
    (void)state;
    struct byte_builder b;
    struct byte_builder old = { .big_endian = false };
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        ctf_builder_build(&b, big_endian != 0, 0);
        b.bytes[2] = 3;
        // Its header has no name of the unit, and no places of names of symbols.
        old.size = 0;
        byte_builder_bytes(&old, b.bytes, 12);
        byte_builder_bytes(&old, b.bytes + 16, 12);
        byte_builder_bytes(&old, b.bytes + 36, b.size - 36);
        check_built(&old);
    }
}

static void ctf_refuses_freebsds_version_3(void **state)
{
    (void)state;
    struct byte_builder b;
    struct ctf_dict dict;
    build_old(&b, 3, false);
    enum ch_status status = open_built(&dict, &b);
    ctf_dict_close(&dict);
    assert_int_equal(status, CH_ERR_UNSUPPORTED);
}

static int read_old(const uint8_t *bytes, size_t size, void *context)
{
    struct ctf_dict dict;
    struct ctf_type type;
    (void)context;
    if (ctf_dict_open(&dict, cursor_over(bytes, size), &nothing, &nothing) == CH_OK) {
        for (uint32_t i = 1; i <= dict.type_count; i++)
            (void)!ctf_dict_type(&dict, i, &type);
    }
    ctf_dict_close(&dict);
    return 0;
}

static void ctf_survives_damage_to_old_dictionaries(void **state)
{
    (void)state;
    struct byte_builder b;
    for (unsigned version = 1; version <= 2; version++) {
        build_old(&b, version, false);
        assert_int_equal(bytes_cut_everywhere(b.bytes, b.size, read_old, NULL), 0);
        assert_int_equal(bytes_flip_every_bit(b.bytes, b.size, read_old, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctf_reads_types_and_their_parts),
        cmocka_unit_test(ctf_reads_the_other_byte_order),
        cmocka_unit_test(ctf_reads_versions_1_and_2_in_both_byte_orders),
        cmocka_unit_test(ctf_inflates_an_old_dictionary),
        cmocka_unit_test(ctf_reads_libctfs_version_2),
        cmocka_unit_test(ctf_refuses_freebsds_version_3),
        cmocka_unit_test(ctf_survives_damage_to_old_dictionaries),
        cmocka_unit_test(ctf_inflates_a_compressed_dictionary),
        cmocka_unit_test(ctf_names_what_has_a_type),
        cmocka_unit_test(ctf_does_not_inflate_beyond_what_the_header_says),
        cmocka_unit_test(ctf_refuses_versions_and_kinds_it_does_not_know),
        cmocka_unit_test(ctf_leaves_functions_of_the_old_form_alone),
        cmocka_unit_test(ctf_survives_every_cut_and_flipped_bit),
        cmocka_unit_test(ctf_says_that_a_cut_dictionary_is_cut),
    };
    return cmocka_run_group_tests_name("formats/ctf", tests, NULL, NULL);
}
