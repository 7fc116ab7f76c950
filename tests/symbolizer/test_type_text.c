// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_text.h"

#include "support/test.h"
#include "support/type_builder.h"
#include "symbolizer/types/type_value.h"

#define BASE 0x1000u

// target is memory from BASE on.
struct target {
    uint8_t bytes[128];
    size_t size;
};

static size_t read_target(void *source, uint64_t address, void *to, size_t length)
{
    const struct target *target = source;
    if (address < BASE || address - BASE >= target->size)
        return 0;
    size_t at = (size_t)(address - BASE);
    size_t count = target->size - at < length ? target->size - at : length;
    memcpy(to, target->bytes + at, count);
    return count;
}

// begin_string makes the type of std::string as DWARF has it; name is how it begins.
static uint32_t begin_string(struct type_table *table, const char *name)
{
    assert_int_equal(type_table_init(table), CH_OK);
    uint32_t character = add_type(table, &(struct type){ .kind = TYPE_INTEGER,
                                                         .name = "char",
                                                         .size = 1,
                                                         .encoding = TYPE_SIGNED });
    uint32_t pointer = add_type(
        table, &(struct type){
                   .kind = TYPE_POINTER, .name = "", .size = 8, .target = character });
    uint32_t number = add_type(
        table, &(struct type){ .kind = TYPE_INTEGER, .name = "long", .size = 8 });
    add_type_part(table, "_M_p", pointer, 0);
    uint32_t hider = add_type(table, &(struct type){ .kind = TYPE_STRUCT,
                                                     .name = "_Alloc_hider",
                                                     .size = 8,
                                                     .first_part = 0,
                                                     .part_count = 1 });
    add_type_part(table, "_M_dataplus", hider, 0);
    add_type_part(table, "_M_string_length", number, 8);
    return add_type(table, &(struct type){ .kind = TYPE_STRUCT,
                                           .name = name,
                                           .size = 32,
                                           .first_part = 1,
                                           .part_count = 2 });
}

static void put(struct target *target, size_t at, uint64_t value)
{
    memcpy(target->bytes + at, &value, sizeof(value));
}

// shown is the value of the object at BASE, to be freed with the table.
static json_t *shown(const struct type_table *table, uint32_t type,
                     struct target *target, const char *name)
{
    const struct memory_reader memory = { .read = read_target, .source = target };
    const struct type_value how = { .table = table,
                                    .memory = &memory,
                                    .sanitize = true };
    return type_value_make(&how, type, BASE, name);
}

static void a_string_object_is_its_text(void **state)
{
    (void)state;
    struct type_table table;
    struct target target = { .size = sizeof(target.bytes) };
    uint32_t type = begin_string(&table, "basic_string<char, std::char_traits<char> >");
    put(&target, 0, BASE + 64);
    put(&target, 8, 20);
    memcpy(target.bytes + 64, "longer than fifteen.", 20);
    json_t *value = shown(&table, type, &target, "line");
    json_t *secret = shown(&table, type, &target, "password");
    bool right = json_is_string(value) &&
                 strcmp(json_string_value(value), "longer than fifteen.") == 0;
    bool masked =
        json_is_string(secret) && strcmp(json_string_value(secret), "***") == 0;
    bool is = type_text_is(&table, type);
    json_decref(value);
    json_decref(secret);
    type_table_deinit(&table);
    assert_true(is);
    assert_true(right);
    assert_true(masked);
}

static void an_object_that_was_not_made_yet_is_shown_by_its_members(void **state)
{
    (void)state;
    static const uint64_t words[][2] = {
        { BASE + 16, 16 },         // longer than what is in the object itself
        { BASE + 64, UINT64_MAX }, // longer than any memory
        { 0x4141414141414141, 5 }, // nowhere
    };
    struct type_table table;
    struct target target = { .size = sizeof(target.bytes) };
    uint32_t type = begin_string(&table, "basic_string<char, std::char_traits<char> >");
    int objects = 0;
    for (size_t i = 0; i < 3; i++) {
        put(&target, 0, words[i][0]);
        put(&target, 8, words[i][1]);
        json_t *value = shown(&table, type, &target, "line");
        objects += json_is_object(value);
        json_decref(value);
    }
    type_table_deinit(&table);
    assert_int_equal(objects, 3);
}

static void a_class_that_only_has_the_members_is_none(void **state)
{
    (void)state;
    struct type_table table;
    uint32_t type = begin_string(&table, "basic_string_of_mine<char>");
    bool is = type_text_is(&table, type);
    type_table_deinit(&table);
    assert_false(is);
}

static void a_string_is_read_as_far_as_its_memory_is_there(void **state)
{
    (void)state;
    struct type_table table;
    struct target target = { 0 };
    uint32_t type = begin_string(&table, "basic_string<char, std::char_traits<char> >");
    put(&target, 0, BASE + 32);
    put(&target, 8, 20);
    memcpy(target.bytes + 32, "cut at any character", 20);
    int failures = 0;
    for (size_t size = 0; size < 32 + 20; size++) {
        target.size = size;
        json_t *value = shown(&table, type, &target, "line");
        const char *text = json_string_value(value);
        bool begun = size > 32;
        failures += begun != (text != NULL) ||
                    (begun && strncmp(text, "cut at any character", size - 32) != 0);
        json_decref(value);
    }
    type_table_deinit(&table);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_object_is_its_text),
        cmocka_unit_test(an_object_that_was_not_made_yet_is_shown_by_its_members),
        cmocka_unit_test(a_class_that_only_has_the_members_is_none),
        cmocka_unit_test(a_string_is_read_as_far_as_its_memory_is_there),
    };
    return cmocka_run_group_tests_name("symbolizer/type_text", tests, NULL, NULL);
}
