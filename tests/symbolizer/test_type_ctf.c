// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_ctf.h"

#include <stdlib.h>

#include "base/text.h"
#include "support/bytes.h"
#include "support/ctf_builder.h"
#include "support/test.h"
#include "symbolizer/types/type_name.h"

// load loads the dictionary and keeps nothing of it.
static enum ch_status load(const void *bytes, size_t size)
{
    struct type_table table;
    struct type_ctf ctf;
    enum ch_status status = type_table_init(&table);
    if (status != CH_OK)
        return status;
    status = type_ctf_load(&ctf, &table, bytes, size);
    type_table_deinit(&table);
    type_ctf_unload(&ctf);
    return status;
}

static void type_ctf_spells_names_as_libctf(void **state)
{
    (void)state;
    static const char *const names[] = {
        "(nonrepresentable type)",
        "int",
        "struct pair",
        "int",
        "struct pair *",
        "int (*) (struct pair *, ...)",
        "enum mood",
        "int [4]",
        "pair_p",
    };
    struct byte_builder b;
    struct type_table table;
    struct type_ctf ctf;
    struct text name = { 0 };
    int wrong = 0;
    ctf_builder_build(&b, false, 2);
    assert_int_equal(type_table_init(&table), CH_OK);
    assert_int_equal(type_ctf_load(&ctf, &table, b.bytes, b.size), CH_OK);
    for (uint32_t i = 0; i < table.count; i++) {
        text_clear(&name);
        wrong +=
            type_name(&table, i, &name) != CH_OK || strcmp(name.bytes, names[i]) != 0;
    }
    uint32_t count = table.count;
    text_deinit(&name);
    type_table_deinit(&table);
    type_ctf_unload(&ctf);
    assert_int_equal(count, CTF_BUILT_TYPES + 1);
    assert_int_equal(wrong, 0);
}

// load_changed loads the dictionary with the word at offset, in its types, changed.
static enum ch_status load_changed(size_t offset, uint32_t word)
{
    struct byte_builder b;
    ctf_builder_build(&b, false, 2);
    memcpy(b.bytes + CTF_BUILT_HEADER + 16 + offset, &word, sizeof(word));
    return load(b.bytes, b.size);
}

static void type_ctf_refuses_types_that_there_are_none_of(void **state)
{
    (void)state;
    assert_int_equal(load_changed(36, 1), CH_OK); // the first member's type, as it is
    assert_int_equal(load_changed(36, 9), CH_ERR_MALFORMED);
    assert_int_equal(load_changed(36, CTF_CHILD_BIT | 1), CH_ERR_MALFORMED);
}

static void type_ctf_refuses_members_outside_their_structure(void **state)
{
    (void)state;
    assert_int_equal(load_changed(32, 33), CH_ERR_MALFORMED);
}

static void type_ctf_refuses_a_structure_in_itself(void **state)
{
    (void)state;
    assert_int_equal(load_changed(36, CTF_BUILT_STRUCT), CH_ERR_MALFORMED);
}

static void type_ctf_refuses_names_without_an_end(void **state)
{
    (void)state;
    assert_int_equal(load_changed(80, 4), CH_ERR_MALFORMED); // a pointer to itself
}

static int visit_load(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    enum ch_status status = load(bytes, size);
    return status == CH_ERR_IO || status == CH_ERR_FAULT;
}

static void type_ctf_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    struct byte_builder b;
    ctf_builder_build(&b, false, 2);
    int failures = bytes_cut_everywhere(b.bytes, b.size, visit_load, NULL);
    failures += bytes_flip_every_bit(b.bytes, b.size, visit_load, NULL);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(type_ctf_spells_names_as_libctf),
        cmocka_unit_test(type_ctf_refuses_types_that_there_are_none_of),
        cmocka_unit_test(type_ctf_refuses_members_outside_their_structure),
        cmocka_unit_test(type_ctf_refuses_a_structure_in_itself),
        cmocka_unit_test(type_ctf_refuses_names_without_an_end),
        cmocka_unit_test(type_ctf_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("symbolizer/type_ctf", tests, NULL, NULL);
}
