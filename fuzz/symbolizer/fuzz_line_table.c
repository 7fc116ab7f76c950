// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/names/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct line_table table;
    struct line_source source = { .lines = cursor_over(bytes, size),
                                  .line_strings = cursor_over(bytes, size),
                                  .strings = cursor_over(bytes, size),
                                  .directory = "/src",
                                  .text = { 0, UINT64_MAX } };
    if (line_table_read(&table, &source) != CH_OK)
        return 0;
    for (size_t i = 0; i < table.row_count && i < 64; i++)
        (void)line_table_find(&table, table.rows[i].address);
    for (uint64_t i = 0; i < table.files.count && i < 64; i++)
        (void)line_table_file(&table, i);
    line_table_deinit(&table);
    return 0;
}
