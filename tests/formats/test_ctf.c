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
    b.bytes[2] = 3;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctf_reads_types_and_their_parts),
        cmocka_unit_test(ctf_reads_the_other_byte_order),
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
