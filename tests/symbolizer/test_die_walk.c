// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "symbolizer/files/die_walk.h"

#include <dwarf.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/byte_builder.h"
#include "support/test.h"

enum { HEADER_BYTES = 11, VISITS_MAX = 1000 };

// Codes of abbreviations.
enum { END, UNIT, SPACE, VARIABLE, VARIABLE_WITH_SIBLING };

static const uint8_t abbreviations[] = {
    UNIT,
    DW_TAG_compile_unit,
    1,
    0,
    0,
    SPACE,
    DW_TAG_namespace,
    1,
    DW_AT_sibling,
    DW_FORM_ref4,
    0,
    0,
    VARIABLE,
    DW_TAG_variable,
    0,
    0,
    0,
    VARIABLE_WITH_SIBLING,
    DW_TAG_variable,
    0,
    DW_AT_sibling,
    DW_FORM_ref4,
    0,
    0,
    END,
};

// A unit is one whose entries a test adds, and what libdw makes of it.
struct unit {
    struct byte_builder bytes;
    Dwarf *dwarf;
    Dwarf_Die die;
};

static void unit_begin(struct unit *unit)
{
    *unit = (struct unit){ .dwarf = NULL };
    byte_builder_uint(&unit->bytes, 0, 4); // its length
    byte_builder_uint(&unit->bytes, 4, 2); // DWARF 4
    byte_builder_uint(&unit->bytes, 0, 4); // offset of the abbreviations
    byte_builder_uint(&unit->bytes, 8, 1); // bytes of an address
    byte_builder_uint(&unit->bytes, UNIT, 1);
}

// unit_add adds an entry that says that its sibling is at an offset in the unit.
static void unit_add(struct unit *unit, uint8_t code, size_t sibling)
{
    byte_builder_uint(&unit->bytes, code, 1);
    byte_builder_uint(&unit->bytes, sibling, 4);
}

static void add_section(Elf *elf, size_t name, void *bytes, size_t size)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_newscn(elf);
    Elf_Data *data = elf_newdata(section);
    data->d_buf = bytes;
    data->d_size = size;
    data->d_align = 1;
    assert_non_null(gelf_getshdr(section, &header));
    header.sh_name = (Elf64_Word)name;
    header.sh_type = name == 1 ? SHT_STRTAB : SHT_PROGBITS;
    assert_int_not_equal(gelf_update_shdr(section, &header), 0);
}

// unit_end ends the list of the unit's children and reads it from a file.
static void unit_end(struct unit *unit)
{
    static char names[] = "\0.shstrtab\0.debug_abbrev\0.debug_info";
    GElf_Ehdr header;
    int fd = memfd_create("unit", MFD_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    byte_builder_uint(&unit->bytes, END, 1);
    unit->bytes.bytes[0] = (uint8_t)(unit->bytes.size - 4);
    assert_non_null(elf);
    assert_non_null(gelf_newehdr(elf, ELFCLASS64));
    assert_non_null(gelf_getehdr(elf, &header));
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_shstrndx = 1;
    assert_int_not_equal(gelf_update_ehdr(elf, &header), 0);
    add_section(elf, 1, names, sizeof(names));
    add_section(elf, 11, (void *)(uintptr_t)abbreviations, sizeof(abbreviations));
    add_section(elf, 25, unit->bytes.bytes, unit->bytes.size);
    assert_true(elf_update(elf, ELF_C_WRITE) > 0);
    (void)elf_end(elf);
    unit->dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_non_null(unit->dwarf);
    assert_non_null(dwarf_offdie(unit->dwarf, HEADER_BYTES, &unit->die));
    close(fd);
}

static size_t count_children(struct unit *unit)
{
    Dwarf_Die child;
    size_t count = 0;
    for (int more = dwarf_child(&unit->die, &child); more == 0 && count < VISITS_MAX;
         more = die_walk_next(&child))
        count++;
    return count;
}

static void a_list_ends_at_an_entry_whose_sibling_is_not_further_on(void **state)
{
    (void)state;
    enum { FIRST = HEADER_BYTES + 1, SECOND = FIRST + 5 };
    static const struct {
        size_t sibling; // of the second entry
        size_t count;
    } lists[] = { { SECOND + 5, 3 }, { SECOND, 2 }, { FIRST, 2 }, { 0, 2 } };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct unit unit;
        unit_begin(&unit);
        unit_add(&unit, VARIABLE_WITH_SIBLING, SECOND);
        unit_add(&unit, VARIABLE_WITH_SIBLING, lists[i].sibling);
        byte_builder_uint(&unit.bytes, VARIABLE, 1);
        unit_end(&unit);
        size_t count = count_children(&unit);
        dwarf_end(unit.dwarf);
        assert_int_equal(count, lists[i].count);
    }
}

// SPACES namespaces follow each other. Each has a variable whose sibling, it says, is
// the next namespace, so that each level would go through all that follow.
enum { SPACES = 6, SPACE_BYTES = 11 };

static void add_spaces(struct unit *unit)
{
    for (size_t i = 1; i <= SPACES; i++) {
        size_t next = HEADER_BYTES + 1 + i * SPACE_BYTES;
        unit_add(unit, SPACE, next);
        unit_add(unit, VARIABLE_WITH_SIBLING, next);
        byte_builder_uint(&unit->bytes, END, 1);
    }
}

static void a_walk_over_several_levels_visits_no_entry_twice(void **state)
{
    (void)state;
    struct unit unit;
    Dwarf_Die at[2 * SPACES];
    int depth = 0;
    size_t visits = 0;
    unit_begin(&unit);
    add_spaces(&unit);
    unit_end(&unit);
    bool more = dwarf_child(&unit.die, &at[0]) == 0;
    while (more && visits++ < VISITS_MAX)
        if (dwarf_tag(&at[depth]) == DW_TAG_namespace &&
            dwarf_child(&at[depth], &at[depth + 1]) == 0)
            depth++;
        else
            more = die_walk_on(at, &depth);
    dwarf_end(unit.dwarf);
    assert_int_equal(visits, 2 * SPACES);
}

static void the_parent_of_an_entry_is_found(void **state)
{
    (void)state;
    struct unit unit;
    Dwarf_Die space;
    Dwarf_Die variable;
    Dwarf_Die parents[2];
    unit_begin(&unit);
    unit_add(&unit, SPACE, HEADER_BYTES + 7);
    byte_builder_uint(&unit.bytes, END, 1);
    unit_add(&unit, SPACE, HEADER_BYTES + 14);
    byte_builder_uint(&unit.bytes, VARIABLE, 1);
    byte_builder_uint(&unit.bytes, END, 1);
    unit_end(&unit);
    bool built = dwarf_offdie(unit.dwarf, HEADER_BYTES + 7, &space) != NULL &&
                 dwarf_offdie(unit.dwarf, HEADER_BYTES + 12, &variable) != NULL;
    bool found = built && die_walk_parent(&variable, &parents[0]) &&
                 die_walk_parent(&space, &parents[1]) &&
                 parents[0].addr == space.addr && parents[1].addr == unit.die.addr;
    bool none = built && !die_walk_parent(&unit.die, &parents[0]);
    dwarf_end(unit.dwarf);
    assert_true(found);
    assert_true(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_ends_at_an_entry_whose_sibling_is_not_further_on),
        cmocka_unit_test(a_walk_over_several_levels_visits_no_entry_twice),
        cmocka_unit_test(the_parent_of_an_entry_is_found),
    };
    return cmocka_run_group_tests_name("symbolizer/die_walk", tests, NULL, NULL);
}
