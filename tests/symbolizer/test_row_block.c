// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/row_block.h"

#include <stdlib.h>

#include "support/test.h"

// finds returns true if the block of size bytes, copied to an allocation of that size,
// has that row at an address.
static bool finds(const void *bytes, size_t size, uint8_t at,
                  const struct row_block_row *expected)
{
    struct row_block_row row = { .node = 0 };
    uint8_t *copy = malloc(size);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    struct cursor c = cursor_over(copy, size);
    bool found = row_block_find(&c, at, &row) == CH_OK;
    free(copy);
    return found && row.node == expected->node && row.line == expected->line &&
           row.column == expected->column && row.at == expected->at;
}

// written_block writes a block, and what follows the last one.
static struct text written_block(const struct row_block_row *rows, size_t count)
{
    static const uint8_t after[ROW_BLOCK_AFTER] = { 0 };
    struct text block = { 0 };
    if (row_block_write(rows, count, &block) != CH_OK)
        abort();
    text_append(&block, after, sizeof(after));
    return block;
}

// finds_all counts the addresses at which the block of these rows has the right one.
static size_t finds_all(const struct row_block_row *rows, size_t count)
{
    struct text block = written_block(rows, count);
    size_t right = 0;
    size_t row = 0;
    for (size_t at = 0; at < ROW_BLOCK_SPAN; at++) {
        while (row + 1 < count && rows[row + 1].at <= at)
            row++;
        right += finds(block.bytes, block.size, (uint8_t)at, &rows[row]);
    }
    bool sized = row_block_size((const uint8_t *)block.bytes) == block.size;
    text_deinit(&block);
    return sized ? right : 0;
}

static void row_block_has_the_row_of_every_address(void **state)
{
    (void)state;
    static const struct row_block_row rows[] = {
        { .node = 0, .line = 0, .column = 0, .at = 0 },
        { .node = 70000, .line = 12, .column = 5, .at = 3 },
        { .node = 70001, .line = 4000000000, .column = 0, .at = 4 },
        { .node = 70000, .line = 13, .column = 65535, .at = 200 },
        { .node = UINT32_MAX, .line = UINT32_MAX, .column = 1, .at = 255 },
    };
    for (size_t count = 1; count <= sizeof(rows) / sizeof(rows[0]); count++)
        assert_int_equal(finds_all(rows, count), ROW_BLOCK_SPAN);
}

static void row_block_may_have_a_row_for_each_address(void **state)
{
    (void)state;
    struct row_block_row rows[ROW_BLOCK_SPAN];
    for (uint32_t i = 0; i < ROW_BLOCK_SPAN; i++)
        rows[i] = (struct row_block_row){ .node = i * 0x01010101u,
                                          .line = UINT32_MAX - i * 0x00fedcbau,
                                          .column = i * 257,
                                          .at = (uint8_t)i };
    assert_int_equal(finds_all(rows, ROW_BLOCK_SPAN), ROW_BLOCK_SPAN);
}

static void row_block_does_not_take_a_column_that_no_line_table_has(void **state)
{
    (void)state;
    const struct row_block_row row = { .column = 65536 };
    struct text block = { 0 };
    enum ch_status status = row_block_write(&row, 1, &block);
    text_deinit(&block);
    assert_int_equal(status, CH_ERR_LIMIT);
}

static void row_block_cut_anywhere_is_refused(void **state)
{
    (void)state;
    static const struct row_block_row rows[] = {
        { .node = 7, .line = 100, .column = 3, .at = 0 },
        { .node = 900, .line = 90, .column = 1, .at = 9 },
    };
    struct text block = written_block(rows, 2);
    size_t found = 0;
    for (size_t size = 1; size < block.size - ROW_BLOCK_AFTER; size++)
        found += finds(block.bytes, size, 9, &rows[1]);
    bool whole = finds(block.bytes, block.size, 9, &rows[1]);
    text_deinit(&block);
    assert_int_equal(found, 0);
    assert_true(whole);
}

static void row_block_with_any_byte_changed_is_read_within_its_bounds(void **state)
{
    (void)state;
    static const struct row_block_row rows[] = {
        { .node = 7, .line = 100, .column = 3, .at = 0 },
        { .node = 900, .line = 90, .column = 1, .at = 9 },
    };
    struct text block = written_block(rows, 2);
    size_t read = 0;
    for (size_t i = 0; i < block.size * 256; i++) {
        char before = block.bytes[i / 256];
        block.bytes[i / 256] = (char)i;
        read += finds(block.bytes, block.size, 9, &rows[1]);
        block.bytes[i / 256] = before;
    }
    text_deinit(&block);
    assert_true(read >= block.size); // each byte has its own value among them
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_block_has_the_row_of_every_address),
        cmocka_unit_test(row_block_may_have_a_row_for_each_address),
        cmocka_unit_test(row_block_does_not_take_a_column_that_no_line_table_has),
        cmocka_unit_test(row_block_cut_anywhere_is_refused),
        cmocka_unit_test(row_block_with_any_byte_changed_is_read_within_its_bounds),
    };
    return cmocka_run_group_tests_name("symbolizer/row_block", tests, NULL, NULL);
}
