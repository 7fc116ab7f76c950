// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/layout_table.h"

#include "report/file/held_file.h"
#include "support/layout_builder.h"
#include "support/test.h"
#include "support/type_builder.h"
#include "symbolizer/values/type_value.h"

#define BASE UINT64_C(0x1000)

// target is memory from BASE on.
struct target {
    uint8_t bytes[512];
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
static json_t *shown(struct type_table *table, uint32_t type, struct target *target,
                     const char *name)
{
    const struct memory_reader memory = { .read = read_target, .source = target };
    struct type_dwarf dwarf; // adds basic types alone
    const struct type_value how = {
        .table = table, .memory = &memory, .dwarf = &dwarf, .sanitize = true
    };
    type_dwarf_init(&dwarf, NULL, table);
    json_t *value = type_value_make(&how, type, BASE, name);
    type_dwarf_deinit(&dwarf);
    return value;
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
    bool is = layout_table_is_text(&table, type);
    json_decref(value);
    json_decref(secret);
    type_table_deinit(&table);
    assert_true(is);
    assert_true(right);
    assert_true(masked);
}

static void a_zero_does_not_end_a_text_of_known_size(void **state)
{
    (void)state;
    struct type_table table;
    struct target target = { .size = sizeof(target.bytes) };
    uint32_t type = begin_string(&table, "basic_string<char, std::char_traits<char> >");
    put(&target, 0, BASE + 64);
    put(&target, 8, 20);
    memcpy(target.bytes + 64, "longer than\0fifteen.", 20);
    json_t *value = shown(&table, type, &target, "line");
    bool right = strcmp(json_string_value(value), "longer than\\x00fifteen.") == 0;
    json_decref(value);
    type_table_deinit(&table);
    assert_true(right);
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
    bool is = layout_table_is_text(&table, type);
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

static void what_was_not_copied_is_not_said_to_be_unreadable(void **state)
{
    (void)state;
    static const struct {
        uint64_t start;
        uint64_t flags;
        bool cut;
        const char *said;
    } cases[] = {
        { BASE, HELD_READ, true, "not-copied" },
        { BASE, HELD_READ, false, "unreadable" },
        { BASE, HELD_WRITE, true, "unreadable" },
        { BASE + 4096, HELD_READ, true, "unreadable" },
    };
    struct target target = { .size = 4 }; // half of the number
    const struct memory_reader memory = { .read = read_target, .source = &target };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct held_mapping mapping = { cases[i].start, cases[i].start + 4096,
                                        cases[i].flags };
        const struct held_file held = { .mappings = &mapping, .mapping_count = 1 };
        struct type_table table;
        assert_int_equal(type_table_init(&table), CH_OK);
        uint32_t type = add_type(
            &table, &(struct type){ .kind = TYPE_INTEGER, .name = "long", .size = 8 });
        const struct type_value how = {
            .table = &table, .memory = &memory, .held = &held, .cut = cases[i].cut
        };
        json_t *value = type_value_make(&how, type, BASE, "n");
        assert_string_equal(json_string_value(json_object_get(value, "error")),
                            cases[i].said);
        json_decref(value);
        type_table_deinit(&table);
    }
}

// hostile is memory of words that lead to each other, or nowhere, from a seed.
static void fill_hostile(struct target *target, uint32_t seed)
{
    static const uint64_t odd[] = { 0, 1, 2, UINT64_MAX, 0x4141414141414141 };
    for (size_t at = 0; at + 8 <= sizeof(target->bytes); at += 8) {
        seed = seed * 1664525 + 1013904223;
        uint32_t draw = seed >> 8;
        put(target, at,
            draw % 3 == 0
                ? odd[draw / 3 % 5]
                : BASE + 8 * (uint64_t)(draw / 3 % (sizeof(target->bytes) / 8)));
    }
    target->size = sizeof(target->bytes);
}

static void every_layout_is_found_by_its_members(void **state)
{
    (void)state;
    static struct layout_builder builder;
    layout_builder_add_all(&builder);
    size_t found = 0;
    for (size_t i = 0; i < builder.count; i++) {
        struct layout_object object = { .table = &builder.table,
                                        .type = builder.types[i] };
        found +=
            layout_table_find(&object) &&
            strcmp(object.row->name, builder.table.types[builder.types[i]].name) == 0;
    }
    type_table_deinit(&builder.table);
    assert_true(builder.count > 100);
    assert_int_equal(found, builder.count);
}

static void every_layout_ends_whatever_the_memory_holds(void **state)
{
    (void)state;
    enum { SEEDS = 300 };
    static struct layout_builder builder;
    builder.count = 0;
    layout_builder_add_all(&builder);
    struct target target;
    size_t damaged = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        for (size_t i = 0; i < builder.count; i++) {
            fill_hostile(&target, seed);
            target.size = seed % 4 == 0 ? seed % sizeof(target.bytes) : target.size;
            json_t *value = shown(&builder.table, builder.types[i], &target, "it");
            damaged += json_object_get(value, "damaged") != NULL;
            assert_non_null(value);
            json_decref(value);
        }
    type_table_deinit(&builder.table);
    assert_true(damaged > SEEDS);
}

// A vector of integers as libstdc++ has it: three pointers.
static json_t *vector_of(struct layout_builder *builder, uint64_t begin, uint64_t end,
                         uint64_t limit)
{
    static const struct layout_row row = { "vector<",
                                           "vector",
                                           layout_read_range,
                                           { "_M_impl._M_start", "_M_impl._M_finish",
                                             "_M_impl._M_end_of_storage" } };
    struct target target = { .size = sizeof(target.bytes) };
    builder->count = 0;
    layout_builder_add(builder, &row);
    put(&target, 0, begin);
    put(&target, 8, end);
    put(&target, 16, limit);
    json_t *value = shown(&builder->table, builder->types[0], &target, "it");
    type_table_deinit(&builder->table);
    return value;
}

static void a_vector_that_ends_before_it_begins_is_damaged(void **state)
{
    (void)state;
    static struct layout_builder builder;
    static const uint64_t ends[][3] = {
        { BASE + 32, BASE + 24, BASE + 64 },                  // before its begin
        { BASE + 32, BASE + 33, BASE + 64 },                  // within an element
        { BASE + 32, BASE + 32 + BUILDER_ELEMENT, BASE + 64 } // after its room
    };
    size_t damaged = 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        json_t *value = vector_of(&builder, ends[i][0], ends[i][1], ends[i][2]);
        damaged += json_is_string(json_object_get(value, "damaged")) &&
                   json_object_get(value, "size") == NULL;
        json_decref(value);
    }
    json_t *whole = vector_of(&builder, BASE + 32, BASE + 32 + BUILDER_ELEMENT,
                              BASE + 32 + BUILDER_ELEMENT);
    bool one = json_integer_value(json_object_get(whole, "size")) == 1 &&
               json_array_size(json_object_get(whole, "items")) == 1;
    json_decref(whole);
    assert_int_equal(damaged, 3);
    assert_true(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_object_is_its_text),
        cmocka_unit_test(a_zero_does_not_end_a_text_of_known_size),
        cmocka_unit_test(an_object_that_was_not_made_yet_is_shown_by_its_members),
        cmocka_unit_test(a_class_that_only_has_the_members_is_none),
        cmocka_unit_test(a_string_is_read_as_far_as_its_memory_is_there),
        cmocka_unit_test(what_was_not_copied_is_not_said_to_be_unreadable),
        cmocka_unit_test(every_layout_is_found_by_its_members),
        cmocka_unit_test(every_layout_ends_whatever_the_memory_holds),
        cmocka_unit_test(a_vector_that_ends_before_it_begins_is_damaged),
    };
    return cmocka_run_group_tests_name("symbolizer/layout", tests, NULL, NULL);
}
