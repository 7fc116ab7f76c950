// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_table.h"

#include <stdio.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "support/test.h"

// Two sets: unit 0x11 with 0x1000-0x1100, unit 0x222 with 0x2000-0x2010 and
// 0x3000-0x3001. Each ends with a pair of zeros.
static const uint8_t two_sets[] = {
    0x2c, 0,    0, 0, 2, 0, 0x11, 0, 0,    0, 8, 0, 0, 0, 0, 0, // header, padding
    0,    0x10, 0, 0, 0, 0, 0,    0, 0,    1, 0, 0, 0, 0, 0, 0, // range
    0,    0,    0, 0, 0, 0, 0,    0, 0,    0, 0, 0, 0, 0, 0, 0, // end
    0x3c, 0,    0, 0, 2, 0, 0x22, 2, 0,    0, 8, 0, 0, 0, 0, 0, // header, padding
    0,    0x20, 0, 0, 0, 0, 0,    0, 0x10, 0, 0, 0, 0, 0, 0, 0, // range
    0,    0x30, 0, 0, 0, 0, 0,    0, 1,    0, 0, 0, 0, 0, 0, 0, // range
    0,    0,    0, 0, 0, 0, 0,    0, 0,    0, 0, 0, 0, 0, 0, 0, // end
};

// unit_of is the unit that the first size bytes have for vaddr, or 0.
static uint64_t unit_of(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
    uint64_t unit = 0;
    return address_table_find(cursor_over(bytes, size), vaddr, &unit) ? unit : 0;
}

static void address_table_finds_the_unit_whose_range_contains_an_address(void **state)
{
    (void)state;
    const size_t size = sizeof(two_sets);
    assert_int_equal(unit_of(two_sets, size, 0x1000), 0x11);
    assert_int_equal(unit_of(two_sets, size, 0x10ff), 0x11);
    assert_int_equal(unit_of(two_sets, size, 0x1100), 0);
    assert_int_equal(unit_of(two_sets, size, 0xfff), 0);
    assert_int_equal(unit_of(two_sets, size, 0x200f), 0x222);
    assert_int_equal(unit_of(two_sets, size, 0x3000), 0x222);
    assert_int_equal(unit_of(two_sets, size, 0), 0);
}

static void address_table_that_is_cut_has_what_is_whole(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(two_sets); size++) {
        assert_int_equal(unit_of(two_sets, size, 0x1000), size < 48 ? 0 : 0x11);
        assert_int_equal(unit_of(two_sets, size, 0x3000), 0);
    }
}

static void address_table_passes_over_sets_of_other_forms(void **state)
{
    (void)state;
    static const size_t changed[] = { 4, 10,
                                      11 }; // version, sizes of the address and segment
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        uint8_t bytes[sizeof(two_sets)];
        memcpy(bytes, two_sets, sizeof(bytes));
        bytes[changed[i]]++;
        assert_int_equal(unit_of(bytes, sizeof(bytes), 0x1000), 0);
        assert_int_equal(unit_of(bytes, sizeof(bytes), 0x2000), 0x222);
    }
}

static void check_this_program(bool whole)
{
    struct debug_elf file;
    assert_int_equal(debug_elf_open(&file, "/proc/self/exe"), CH_OK);
    Dwarf *dwarf = dwarf_begin_elf(file.elf, DWARF_C_READ, NULL);
    assert_non_null(dwarf);
    struct address_table table = { .dwarf = dwarf, .file = &file, .whole = whole };
    Dwarf_Aranges *ranges;
    size_t count = 0;
    size_t same = 0;
    assert_int_equal(dwarf_getaranges(dwarf, &ranges, &count), 0);
    for (size_t i = 0; i < count; i++) {
        Dwarf_Addr address;
        Dwarf_Word length;
        Dwarf_Die ours;
        Dwarf_Die theirs;
        (void)dwarf_getarangeinfo(dwarf_onearange(ranges, i), &address, &length, NULL);
        same += dwarf_addrdie(dwarf, address, &theirs) != NULL &&
                address_table_unit(&table, address, &ours) && ours.addr == theirs.addr;
    }
    address_table_deinit(&table);
    dwarf_end(dwarf);
    debug_elf_close(&file);
    assert_true(count != 0);
    assert_int_equal(same, count);
}

static void address_table_agrees_with_libdw_on_this_program(void **state)
{
    (void)state;
    check_this_program(false);
    check_this_program(true);
}

static void unit_view_of_any_offset_changes_nothing(void **state)
{
    (void)state;
    struct debug_elf file;
    enum { OFFSETS = 2048 };
    assert_int_equal(debug_elf_open(&file, "/proc/self/exe"), CH_OK);
    const Elf_Data *section = debug_elf_section(&file, ".debug_info");
    assert_non_null(section);
    assert_true(section->d_size > OFFSETS);
    uint32_t before = crc32c(section->d_buf, section->d_size);
    size_t opened = 0;
    for (uint64_t i = 0; i < 2 * OFFSETS; i++) {
        Dwarf_Die unit;
        Dwarf_Die child;
        Dwarf *view = unit_view_open(
            &file, i < OFFSETS ? i : section->d_size + OFFSETS / 2 - i + OFFSETS,
            &unit);
        opened += view != NULL;
        if (view != NULL)
            (void)dwarf_child(&unit, &child);
        (void)dwarf_end(view);
    }
    assert_int_equal(crc32c(section->d_buf, section->d_size), before);
    assert_true(opened != 2 * OFFSETS);
    debug_elf_close(&file);
}

// is_mapped reads in /proc/self/pagemap whether the page at address is mapped.
static bool is_mapped(const void *address)
{
    uint64_t entry;
    long page = (long)((uintptr_t)address / (uintptr_t)sysconf(_SC_PAGESIZE));
    FILE *file = fopen("/proc/self/pagemap", "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, page * (long)sizeof(entry), SEEK_SET), 0);
    assert_int_equal(fread(&entry, sizeof(entry), 1, file), 1);
    (void)fclose(file);
    return entry >> 63;
}

static void debug_elf_that_dropped_its_pages_reads_them_again(void **state)
{
    (void)state;
    struct debug_elf file;
    assert_int_equal(debug_elf_open(&file, "/proc/self/exe"), CH_OK);
    const Elf_Data *names = debug_elf_section(&file, ".strtab");
    assert_non_null(names);
    uint32_t before = crc32c(names->d_buf, names->d_size);
    assert_true(is_mapped(names->d_buf));
    debug_elf_drop_pages(&file);
    assert_false(is_mapped(names->d_buf));
    assert_int_equal(crc32c(names->d_buf, names->d_size), before);
    debug_elf_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_table_finds_the_unit_whose_range_contains_an_address),
        cmocka_unit_test(address_table_that_is_cut_has_what_is_whole),
        cmocka_unit_test(address_table_passes_over_sets_of_other_forms),
        cmocka_unit_test(address_table_agrees_with_libdw_on_this_program),
        cmocka_unit_test(unit_view_of_any_offset_changes_nothing),
        cmocka_unit_test(debug_elf_that_dropped_its_pages_reads_them_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
