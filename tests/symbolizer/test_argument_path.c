// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_path.h"

#include <stdio.h>

#include "support/test.h"
#include "support/type_builder.h"

static uint32_t number_type;

// begin makes `struct item { long id; struct point { long x, y; } at[3]; union { long
// a; long b; } either; }`.
static uint32_t begin(struct type_table *table)
{
    assert_int_equal(type_table_init(table), CH_OK);
    number_type = add_type(
        table, &(struct type){ .kind = TYPE_INTEGER, .name = "long", .size = 8 });
    add_type_part(table, "x", number_type, 0);
    add_type_part(table, "y", number_type, 8);
    uint32_t point = add_type(table, &(struct type){ .kind = TYPE_STRUCT,
                                                     .name = "point",
                                                     .size = 16,
                                                     .first_part = 0,
                                                     .part_count = 2 });
    uint32_t points = add_type(
        table,
        &(struct type){ .kind = TYPE_ARRAY, .name = "", .target = point, .count = 3 });
    add_type_part(table, "a", number_type, 0);
    add_type_part(table, "b", number_type, 0);
    uint32_t either = add_type(table, &(struct type){ .kind = TYPE_UNION,
                                                      .name = "either",
                                                      .size = 8,
                                                      .first_part = 2,
                                                      .part_count = 2 });
    add_type_part(table, "id", number_type, 0);
    add_type_part(table, "at", points, 8);
    add_type_part(table, "either", either, 56);
    return add_type(table, &(struct type){ .kind = TYPE_STRUCT,
                                           .name = "item",
                                           .size = 64,
                                           .first_part = 4,
                                           .part_count = 3 });
}

// is_path returns true if the bytes have that path; NULL: they have none.
static bool is_path(uint64_t offset, uint64_t bytes, const char *expected)
{
    struct type_table table;
    struct text path = { 0 };
    struct argument_part part = { begin(&table), offset, bytes, false };
    bool found = argument_path_append(&table, &part, "->", &path);
    bool right = expected != NULL ? found && part.type == number_type &&
                                        strcmp(path.bytes, expected) == 0
                                  : !found;
    text_deinit(&path);
    type_table_deinit(&table);
    return right;
}

static void members_and_elements_are_named(void **state)
{
    (void)state;
    assert_true(is_path(0, 8, "->id"));
    assert_true(is_path(8, 8, "->at[0].x"));
    assert_true(is_path(32, 8, "->at[1].y"));
}

static void what_is_no_whole_member_has_no_name(void **state)
{
    (void)state;
    assert_true(is_path(4, 4, NULL));
    assert_true(is_path(0, 4, NULL));
    assert_true(is_path(64, 8, NULL));
    assert_true(is_path(UINT64_MAX, 8, NULL));
}

static void a_union_has_no_one_name(void **state)
{
    (void)state;
    assert_true(is_path(56, 8, NULL));
}

// union_path gives the path of `u` in `struct { long id; union { long i; T *first; T
// *second; } u; }` with so many of the pointers; empty: it has none.
static void union_path(size_t pointers, char path[static 16], enum type_kind *out_kind)
{
    struct type_table table;
    struct text text = { 0 };
    struct argument_part part = { 0, 8, 8, false };
    assert_int_equal(type_table_init(&table), CH_OK);
    uint32_t number = add_type(
        &table, &(struct type){ .kind = TYPE_INTEGER, .name = "long", .size = 8 });
    uint32_t pointer = add_type(
        &table, &(struct type){ .kind = TYPE_POINTER, .size = 8, .target = number });
    add_type_part(&table, "i", number, 0);
    add_type_part(&table, "first", pointer, 0);
    add_type_part(&table, "second", pointer, 0);
    uint32_t u = add_type(&table, &(struct type){ .kind = TYPE_UNION,
                                                  .name = "",
                                                  .size = 8,
                                                  .part_count = 1 + pointers });
    add_type_part(&table, "id", number, 0);
    add_type_part(&table, "u", u, 8);
    part.type = add_type(&table, &(struct type){ .kind = TYPE_STRUCT,
                                                 .name = "value",
                                                 .size = 16,
                                                 .first_part = 3,
                                                 .part_count = 2 });
    bool found = argument_path_append(&table, &part, "->", &text);
    snprintf(path, 16, "%s", found ? text.bytes : "");
    *out_kind = table.types[part.type].kind;
    assert_true(part.in_union);
    text_deinit(&text);
    type_table_deinit(&table);
}

static void a_pointer_in_a_union_is_named_or_the_union_of_several(void **state)
{
    char path[16];
    enum type_kind kind;
    (void)state;
    union_path(1, path, &kind);
    assert_string_equal(path, "->u.first");
    assert_int_equal(kind, TYPE_POINTER);
    union_path(2, path, &kind);
    assert_string_equal(path, "->u");
    assert_int_equal(kind, TYPE_UNION);
}

// is_written returns true if the expression becomes that.
static bool is_written(const char *expression, const char *expected)
{
    struct text text = { 0 };
    text_append_string(&text, expression);
    argument_path_as_written(&text);
    bool right = strcmp(text.bytes, expected) == 0 && strlen(expected) == text.size;
    text_deinit(&text);
    return right;
}

static void what_libraries_keep_is_called_as_the_source_does(void **state)
{
    (void)state;
    assert_true(is_written("__closure->__of", "of"));
    assert_true(is_written("s.cart._M_t._M_t._M_head_impl", "s.cart"));
    assert_true(is_written("it->_M_ptr", "*it"));
    assert_true(is_written("p->next._M_ptr->id", "p->next->id"));
    assert_true(is_written("list._M_impl._M_start[3]", "list[3]"));
    assert_true(is_written("list.data()[i].of", "list[i].of"));
    assert_true(is_written("list->_M_impl._M_start", "list->data()"));
    assert_true(is_written("name._M_dataplus._M_p", "name.data()"));
    assert_true(is_written("of->call.__pfn", "of->call"));
}

static void other_members_keep_their_names(void **state)
{
    (void)state;
    assert_true(
        is_written("queue._M_impl._M_start._M_cur", "queue._M_impl._M_start._M_cur"));
    assert_true(is_written("it->_M_ptr->id", "it->_M_ptr->id"));
    assert_true(is_written("my_M_ptr", "my_M_ptr"));
    assert_true(is_written("_M_ptr", "_M_ptr"));
    assert_true(is_written("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_elements_are_named),
        cmocka_unit_test(what_is_no_whole_member_has_no_name),
        cmocka_unit_test(a_union_has_no_one_name),
        cmocka_unit_test(a_pointer_in_a_union_is_named_or_the_union_of_several),
        cmocka_unit_test(what_libraries_keep_is_called_as_the_source_does),
        cmocka_unit_test(other_members_keep_their_names),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_path", tests, NULL, NULL);
}
