// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_table.h"

#include <stdio.h>
#include <stdlib.h>

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

static void address_table_agrees_with_libdw_on_this_program(void **state)
{
    (void)state;
    struct debug_elf file;
    assert_int_equal(debug_elf_open(&file, "/proc/self/exe"), CH_OK);
    Dwarf *dwarf = dwarf_begin_elf(file.elf, DWARF_C_READ, NULL);
    assert_non_null(dwarf);
    struct address_table table = { .dwarf = dwarf, .file = &file };
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
    dwarf_end(dwarf);
    debug_elf_close(&file);
    assert_true(count != 0);
    assert_int_equal(same, count);
}

// mapped_file_pages counts this process's pages of files.
static long mapped_file_pages(void)
{
    char line[256];
    char *at = line;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    (void)fclose(file);
    (void)strtol(at, &at, 10); // all of its address space
    (void)strtol(at, &at, 10); // all in memory
    return strtol(at, &at, 10);
}

static uint32_t bytes_of_names(const struct debug_elf *file)
{
    const Elf_Data *names = debug_elf_section(file, ".strtab");
    assert_non_null(names);
    return crc32c(names->d_buf, names->d_size);
}

static void debug_elf_that_dropped_its_pages_reads_them_again(void **state)
{
    (void)state;
    struct debug_elf file;
    assert_int_equal(debug_elf_open(&file, "/proc/self/exe"), CH_OK);
    uint32_t before = bytes_of_names(&file);
    long pages = mapped_file_pages();
    debug_elf_drop_pages(&file);
    assert_true(mapped_file_pages() < pages);
    assert_int_equal(bytes_of_names(&file), before);
    debug_elf_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_table_finds_the_unit_whose_range_contains_an_address),
        cmocka_unit_test(address_table_that_is_cut_has_what_is_whole),
        cmocka_unit_test(address_table_passes_over_sets_of_other_forms),
        cmocka_unit_test(address_table_agrees_with_libdw_on_this_program),
        cmocka_unit_test(debug_elf_that_dropped_its_pages_reads_them_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
