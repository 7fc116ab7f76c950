// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/dwarf_members.h"

#include <stdlib.h>

#include "support/test.h"

// Codes 1: a unit with a name; 2: a structure with a name and members; 3: a member with
// a name, an offset and a reference to its type; 4: a member whose offset is an
// expression; 5: a type without a name that has a size.
static const uint8_t abbrevs[] = {
    1, 0x11, 1,    0x03, 0x08, 0,    0,                      // DW_TAG_compile_unit
    2, 0x13, 1,    0x03, 0x08, 0,    0,                      // DW_TAG_structure_type
    3, 0x0d, 0,    0x03, 0x08, 0x38, 0x0f, 0x49, 0x13, 0, 0, // DW_TAG_member
    4, 0x0d, 0,    0x03, 0x08, 0x38, 0x0a, 0,    0,    5, 0x24,
    0, 0x0b, 0x0b, 0x01, 0x01, 0,    0, // DW_TAG_base_type
    0,
};

// Two units of DWARF 4: one with another structure of the same name, and the runtime's.
static const uint8_t units[] = {
    20, 0,   0,   0,   4,   0,    0,    0,    0, 0, 8, //
    1,  'm', 0,   2,   'g', 0,    3,    'x',  0, 1, 0, 0, 0, 45, 0,
    0,  0,   4,   0,   0,   0,    0,    0,    8,                    //
    1,  'r', 'u', 'n', 0,   5,    8,    1,    2, 3, 4, 5, 6, 7,  8, //
    2,  'g', 0,   3,   'i', 'd',  0,    0x98, 1, 0, 0, 0, 0,        //
    4,  'p', 'c', 0,   3,   0x23, 0xa8, 2,    0, 0,
};

static enum ch_status find(const uint8_t *bytes, size_t size, const char *unit,
                           struct dwarf_member *members)
{
    return dwarf_members_find(cursor_over(bytes, size),
                              cursor_over(abbrevs, sizeof(abbrevs)), unit, "g", members,
                              3);
}

static void members_have_the_offsets_of_the_unit_that_is_named(void **state)
{
    (void)state;
    struct dwarf_member members[] = { { .name = "pc" },
                                      { .name = "id" },
                                      { .name = "x" } };
    assert_int_equal(find(units, sizeof(units), "run", members), CH_OK);
    assert_true(members[0].found);
    assert_int_equal(members[0].offset, 0x128);
    assert_true(members[1].found);
    assert_int_equal(members[1].offset, 0x98);
    assert_false(members[2].found);
}

static void a_unit_or_structure_that_is_missing_is_said_to_be(void **state)
{
    (void)state;
    struct dwarf_member members[] = { { .name = "pc" },
                                      { .name = "id" },
                                      { .name = "x" } };
    assert_int_equal(find(units, sizeof(units), "none", members), CH_ERR_NOT_FOUND);
    assert_int_equal(dwarf_members_find(cursor_over(units, sizeof(units)),
                                        cursor_over(abbrevs, sizeof(abbrevs)), "run",
                                        "h", members, 3),
                     CH_ERR_NOT_FOUND);
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    struct dwarf_member members[] = { { .name = "pc" },
                                      { .name = "id" },
                                      { .name = "x" } };
    uint8_t bytes[sizeof(units)];
    memcpy(bytes, units, sizeof(units));
    bytes[4] = 6; // version
    assert_int_equal(find(bytes, sizeof(bytes), "run", members), CH_ERR_UNSUPPORTED);
    bytes[4] = 4;
    bytes[11] = 9; // a code without an entry
    assert_int_equal(find(bytes, sizeof(bytes), "run", members), CH_ERR_MALFORMED);
    memset(bytes, 0xff, 4); // the length of 64-bit DWARF
    assert_int_equal(find(bytes, sizeof(bytes), "run", members), CH_ERR_UNSUPPORTED);
}

static void sections_that_are_cut_give_an_error(void **state)
{
    (void)state;
    for (size_t size = 1; size < sizeof(units); size++) {
        struct dwarf_member members[] = { { .name = "pc" },
                                          { .name = "id" },
                                          { .name = "x" } };
        uint8_t *cut = malloc(size);
        assert_non_null(cut);
        memcpy(cut, units, size);
        enum ch_status status = find(cut, size, "run", members);
        free(cut);
        assert_int_equal(status, size == 24 ? CH_ERR_NOT_FOUND : CH_ERR_TRUNCATED);
    }
}

static void abbreviations_that_are_cut_give_an_error(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(abbrevs); size++) {
        struct dwarf_member members[] = { { .name = "pc" } };
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, abbrevs, size);
        enum ch_status status =
            dwarf_members_find(cursor_over(units, sizeof(units)),
                               cursor_over(cut, size), "run", "g", members, 1);
        free(cut);
        assert_int_equal(status, CH_ERR_TRUNCATED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_have_the_offsets_of_the_unit_that_is_named),
        cmocka_unit_test(a_unit_or_structure_that_is_missing_is_said_to_be),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(sections_that_are_cut_give_an_error),
        cmocka_unit_test(abbreviations_that_are_cut_give_an_error),
    };
    return cmocka_run_group_tests_name("formats/dwarf_members", tests, NULL, NULL);
}
