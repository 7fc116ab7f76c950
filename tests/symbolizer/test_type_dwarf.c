// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_dwarf.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/test.h"

// The types of this variable are read from this program's own debug information.
struct leaf {
    int depth;
};
struct branch {
    struct leaf own;
    struct leaf *other;
    struct branch *next;
};
struct branch *volatile branch_of_this_test;

struct scene {
    Dwarf *dwarf;
    struct type_table table;
    struct type_dwarf types;
    Dwarf_Die variable;
};

// scene_find finds the variable in one of the units.
static bool scene_find(struct scene *scene)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die top;
    while (dwarf_get_units(scene->dwarf, unit, &unit, NULL, NULL, &top, NULL) == 0)
        for (int more = dwarf_child(&top, &scene->variable); more == 0;
             more = dwarf_siblingof(&scene->variable, &scene->variable)) {
            const char *name = dwarf_diename(&scene->variable);
            if (name != NULL && strcmp(name, "branch_of_this_test") == 0)
                return true;
        }
    return false;
}

static int begin(void **state)
{
    static struct scene scene;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    scene = (struct scene){ .dwarf = dwarf_begin(fd, DWARF_C_READ) };
    close(fd);
    *state = &scene;
    if (scene.dwarf == NULL || type_table_init(&scene.table) != CH_OK)
        return -1;
    type_dwarf_init(&scene.types, scene.dwarf, &scene.table);
    return scene_find(&scene) ? 0 : -1;
}

static int end(void **state)
{
    struct scene *scene = *state;
    type_dwarf_deinit(&scene->types);
    type_table_deinit(&scene->table);
    dwarf_end(scene->dwarf);
    return 0;
}

// pointed_to reads a part of the variable's type, and gives what it points to.
static const struct type *pointed_to(struct scene *scene, enum type_dwarf_part part)
{
    uint32_t index;
    assert_int_equal(
        type_dwarf_add_type_of(&scene->types, &scene->variable, part, &index), CH_OK);
    const struct type *pointer = &scene->table.types[type_strip(&scene->table, index)];
    assert_int_equal(pointer->kind, TYPE_POINTER);
    return &scene->table.types[pointer->target];
}

static void of_what_a_pointer_leads_to_a_value_needs_the_name_alone(void **state)
{
    struct scene *scene = *state;
    const struct type *branch = pointed_to(scene, TYPE_DWARF_VALUE);
    assert_int_equal(branch->kind, TYPE_STRUCT);
    assert_string_equal(branch->name, "branch");
    assert_int_equal(branch->size, sizeof(struct branch));
    assert_int_equal(branch->part_count, 0);
}

static void what_is_asked_for_later_is_added_to_the_same_type(void **state)
{
    struct scene *scene = *state;
    const struct type *before = pointed_to(scene, TYPE_DWARF_VALUE);
    size_t number = (size_t)(before - scene->table.types);
    const struct type *branch = pointed_to(scene, TYPE_DWARF_WHOLE);
    assert_int_equal(branch - scene->table.types, number);
    assert_int_equal(branch->part_count, 3);
    const struct type_part *parts = &scene->table.parts[branch->first_part];
    const struct type *leaf = &scene->table.types[parts[0].type];
    assert_int_equal(leaf->part_count, 1);
    assert_int_equal(scene->table.types[parts[1].type].target, parts[0].type);
    assert_int_equal(scene->table.types[parts[2].type].target, number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            of_what_a_pointer_leads_to_a_value_needs_the_name_alone, begin, end),
        cmocka_unit_test_setup_teardown(
            what_is_asked_for_later_is_added_to_the_same_type, begin, end),
    };
    return cmocka_run_group_tests_name("symbolizer/type_dwarf", tests, NULL, NULL);
}
