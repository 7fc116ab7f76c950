// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/line_table.h"

#include <stdlib.h>

#include "support/bytes.h"
#include "support/test.h"

// Version 4: directory "inc", files "a.c" in the unit's own directory and "b.h" in inc.
// Rows: 0x1000 a.c:3:7, 0x1004 b.h:10:7, 0x1008 a.c:4:7; the sequence ends at 0x1010.
// clang-format off
static const uint8_t version_4[] = {
    79, 0, 0, 0, 4, 0, 38, 0, 0, 0, // size, version, header size
    1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, // encoding
    'i', 'n', 'c', 0, 0, // directories
    'a', '.', 'c', 0, 0, 0, 0, 'b', '.', 'h', 0, 1, 0, 0, 0, // files
    0, 9, 2, 0x00, 0x10, 0, 0, 0, 0, 0, 0, // set address 0x1000
    5, 7, // set column 7
    3, 2, 1, // line + 2, copy
    4, 2, 2, 4, 3, 7, 1, // file 2, address + 4, line + 7, copy
    4, 1, 2, 4, 3, 0x7a, 1, // file 1, address + 4, line - 6, copy
    2, 8, 0, 1, 1, // address + 8, end of the sequence
};
// clang-format on

static struct line_source source_of(const uint8_t *bytes, size_t size)
{
    return (struct line_source){ .lines = cursor_over(bytes, size),
                                 .directory = "/src",
                                 .text = { 0x1000, 0x2000 } };
}

static void lines_are_found_by_the_row_before_an_address(void **state)
{
    (void)state;
    struct line_source source = source_of(version_4, sizeof(version_4));
    struct line_table table;
    assert_int_equal(line_table_read(&table, &source), CH_OK);
    const struct line_row *first = line_table_find(&table, 0x1003);
    const struct line_row *second = line_table_find(&table, 0x1004);
    const struct line_row *third = line_table_find(&table, 0x100f);
    bool lines = first != NULL && first->line == 3 && first->column == 7 &&
                 second != NULL && second->line == 10 && third != NULL &&
                 third->line == 4;
    bool ends = line_table_find(&table, 0x1010) == NULL &&
                line_table_find(&table, 0xfff) == NULL;
    line_table_deinit(&table);
    assert_true(lines);
    assert_true(ends);
}

static void files_are_joined_with_their_directories(void **state)
{
    (void)state;
    struct line_source source = source_of(version_4, sizeof(version_4));
    struct line_table table;
    assert_int_equal(line_table_read(&table, &source), CH_OK);
    const char *own = line_table_file(&table, 1);
    const char *included = line_table_file(&table, 2);
    bool right = own != NULL && strcmp(own, "/src/a.c") == 0 && included != NULL &&
                 strcmp(included, "/src/inc/b.h") == 0 &&
                 line_table_file(&table, 0) == NULL &&
                 line_table_file(&table, 3) == NULL;
    line_table_deinit(&table);
    assert_true(right);
}

static void lines_of_code_the_linker_dropped_are_left_out(void **state)
{
    (void)state;
    struct line_source source = source_of(version_4, sizeof(version_4));
    source.text[0] = 0x1001;
    struct line_table table;
    assert_int_equal(line_table_read(&table, &source), CH_OK);
    size_t rows = table.row_count;
    bool found = line_table_find(&table, 0x1008) != NULL;
    line_table_deinit(&table);
    assert_int_equal(rows, 0);
    assert_false(found);
}

static void line_table_of_an_unknown_version_is_not_supported(void **state)
{
    (void)state;
    uint8_t later[sizeof(version_4)];
    memcpy(later, version_4, sizeof(later));
    later[4] = 6;
    struct line_source source = source_of(later, sizeof(later));
    struct line_table table;
    assert_int_equal(line_table_read(&table, &source), CH_ERR_UNSUPPORTED);
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct line_source source = source_of(bytes, size);
    struct line_table table;
    if (line_table_read(&table, &source) == CH_OK) {
        (void)line_table_find(&table, 0x1004);
        (void)line_table_file(&table, 1);
        line_table_deinit(&table);
    }
    return 0;
}

static void line_table_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere(version_4, sizeof(version_4), visit, NULL),
                     0);
    assert_int_equal(bytes_flip_every_bit(version_4, sizeof(version_4), visit, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_by_the_row_before_an_address),
        cmocka_unit_test(files_are_joined_with_their_directories),
        cmocka_unit_test(lines_of_code_the_linker_dropped_are_left_out),
        cmocka_unit_test(line_table_of_an_unknown_version_is_not_supported),
        cmocka_unit_test(line_table_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("symbolizer/line_table", tests, NULL, NULL);
}
