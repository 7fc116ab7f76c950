// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/symbol_table.h"

#include <stdio.h>

#include "support/test.h"

// both are a file's functions, sorted and in slices.
struct both {
    struct debug_elf file;
    struct symbol_table table;
    struct symbol_places places;
};

static void both_open(struct both *both, const char *path)
{
    uint64_t base;
    *both = (struct both){ 0 };
    assert_int_equal(debug_elf_open(&both->file, path), CH_OK);
    assert_int_equal(debug_elf_layout(&both->file, &base, both->table.text), CH_OK);
    assert_int_equal(symbol_table_add(&both->table, &both->file, SHT_SYMTAB), CH_OK);
    if (both->table.count == 0) // it is stripped
        assert_int_equal(symbol_table_add(&both->table, &both->file, SHT_DYNSYM),
                         CH_OK);
    symbol_table_sort(&both->table);
    assert_int_equal(symbol_places_read(&both->places, &both->file, both->table.text),
                     CH_OK);
}

static void both_close(struct both *both)
{
    symbol_places_deinit(&both->places);
    symbol_table_deinit(&both->table);
    debug_elf_close(&both->file);
}

// both_agree returns true if both find the same at vaddr.
static bool both_agree(const struct both *both, uint64_t vaddr)
{
    struct symbol placed;
    const struct symbol *sorted = symbol_table_find(&both->table, vaddr);
    bool found = symbol_places_find(&both->places, vaddr, &placed);
    if (sorted == NULL || !found)
        return (sorted != NULL) == found;
    return placed.vaddr == sorted->vaddr && placed.name == sorted->name &&
           placed.reach == sorted->reach && placed.sized == sorted->sized;
}

// differences counts the edges of functions where the two disagree.
static size_t differences(const struct both *both)
{
    size_t count = 0;
    for (size_t i = 0; i < both->table.count; i++) {
        const struct symbol *symbol = &both->table.symbols[i];
        const uint64_t end = symbol->vaddr + symbol->reach;
        count += !both_agree(both, symbol->vaddr) +
                 !both_agree(both, symbol->vaddr - 1) + !both_agree(both, end - 1) +
                 !both_agree(both, end);
    }
    return count;
}

static void symbol_places_find_what_a_sorted_table_finds(void **state)
{
    (void)state;
    struct both both;
    both_open(&both, "/proc/self/exe");
    size_t count = both.table.count;
    size_t different = differences(&both);
    both_close(&both);
    assert_true(count > 20);
    assert_int_equal(different, 0);
}

static void symbol_places_find_nothing_outside_of_the_text(void **state)
{
    (void)state;
    struct both both;
    both_open(&both, "/proc/self/exe");
    bool agree = both_agree(&both, 0) && both_agree(&both, UINT64_MAX) &&
                 both_agree(&both, both.table.text[0] - 1) &&
                 both_agree(&both, both.table.text[1]);
    both_close(&both);
    assert_true(agree);
}

// A C library exports many functions by several names.
static void symbol_places_choose_between_names_as_a_sorted_table_does(void **state)
{
    (void)state;
    char line[512];
    char path[256] = "";
    struct both both;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (path[0] == 0 && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, "/libc.so.6") != NULL)
            (void)sscanf(strchr(line, '/'), "%255[^\n]", path);
    (void)fclose(maps);
    if (path[0] == 0)
        skip();
    both_open(&both, path);
    size_t count = both.table.count;
    size_t different = differences(&both);
    both_close(&both);
    assert_true(count > 100);
    assert_int_equal(different, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbol_places_find_what_a_sorted_table_finds),
        cmocka_unit_test(symbol_places_find_nothing_outside_of_the_text),
        cmocka_unit_test(symbol_places_choose_between_names_as_a_sorted_table_does),
    };
    elf_version(EV_CURRENT);
    return cmocka_run_group_tests_name("symbolizer/symbol_table", tests, NULL, NULL);
}
