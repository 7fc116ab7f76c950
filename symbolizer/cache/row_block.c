// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/row_block.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

// COLUMN_BITS_MAX, so that a row and the bits before its first fit one word. The
// block's fourth byte has the size of a node above the bits of a column.
enum {
    LINE_BITS_MAX = 32,
    COLUMN_BITS_MAX = 16,
    NODE_SIZE_SHIFT = 5,
    NODE_SIZE_MAX = sizeof(uint32_t),
};

// layout is what a block's first four bytes say.
struct layout {
    size_t rows;
    size_t nodes;
    size_t node_size;
    unsigned node_bits;
    unsigned line_bits;
    unsigned column_bits;
};

static unsigned bits_of(uint32_t largest)
{
    return largest != 0 ? 32 - (unsigned)__builtin_clz(largest) : 0;
}

static inline unsigned row_bits(const struct layout *layout)
{
    return layout->node_bits + layout->line_bits + layout->column_bits;
}

static inline struct layout layout_of(const uint8_t *header)
{
    return (struct layout){ .rows = header[0] + (size_t)1,
                            .nodes = header[1] + (size_t)1,
                            .node_size = header[3] >> NODE_SIZE_SHIFT,
                            .node_bits = bits_of(header[1]),
                            .line_bits = header[2],
                            .column_bits = header[3] & ((1u << NODE_SIZE_SHIFT) - 1) };
}

static inline size_t nodes_size(const struct layout *layout)
{
    return layout->nodes * layout->node_size;
}

size_t row_block_size(const uint8_t header[ROW_BLOCK_HEADER_SIZE])
{
    const struct layout layout = layout_of(header);
    return ROW_BLOCK_HEADER_SIZE + layout.rows + nodes_size(&layout) +
           (layout.rows * row_bits(&layout) + 7) / 8 + ROW_BLOCK_AFTER;
}

// columns are the sets of a block's values while it is written.
struct columns {
    uint32_t nodes[ROW_BLOCK_SPAN];
    uint8_t node_of[ROW_BLOCK_SPAN]; // of each row, its index in nodes
    size_t node_count;
    uint32_t node_low;
    uint32_t node_high;
    uint32_t line_low;
    uint32_t line_high;
    uint32_t column_high;
};

static void columns_add(struct columns *columns, const struct row_block_row *row,
                        size_t index)
{
    size_t node = 0;
    while (node < columns->node_count && columns->nodes[node] != row->node)
        node++;
    columns->nodes[node] = row->node;
    columns->node_count += node == columns->node_count;
    columns->node_of[index] = (uint8_t)node;
    if (row->node < columns->node_low)
        columns->node_low = row->node;
    if (row->node > columns->node_high)
        columns->node_high = row->node;
    if (row->line < columns->line_low)
        columns->line_low = row->line;
    if (row->line > columns->line_high)
        columns->line_high = row->line;
    if (row->column > columns->column_high)
        columns->column_high = row->column;
}

static void block_append_word(struct text *out, uint32_t word)
{
    word = htole32(word);
    text_append(out, &word, sizeof(word));
}

// append_rows appends the rows' bits, from the lowest on.
static void append_rows(const struct layout *layout, const struct columns *columns,
                        const struct row_block_row *rows, struct text *out)
{
    uint64_t word = 0;
    unsigned used = 0;
    for (size_t i = 0; i < layout->rows; i++) {
        uint64_t row = columns->node_of[i];
        row |= (uint64_t)(rows[i].line - columns->line_low) << layout->node_bits;
        row |= (uint64_t)rows[i].column << (layout->node_bits + layout->line_bits);
        word |= row << used;
        used += row_bits(layout);
        for (; used >= 8; used -= 8, word >>= 8)
            text_append(out, &(uint8_t){ (uint8_t)word }, 1);
    }
    if (used != 0)
        text_append(out, &(uint8_t){ (uint8_t)word }, 1);
}

enum ch_status row_block_write(const struct row_block_row *rows, size_t count,
                               struct text *out)
{
    struct columns columns = { .line_low = UINT32_MAX, .node_low = UINT32_MAX };
    for (size_t i = 0; i < count; i++)
        columns_add(&columns, &rows[i], i);
    unsigned column_bits = bits_of(columns.column_high);
    size_t node_size = (bits_of(columns.node_high - columns.node_low) + 7) / 8;
    if (column_bits > COLUMN_BITS_MAX)
        return CH_ERR_LIMIT;
    const uint8_t header[4] = { (uint8_t)(count - 1), (uint8_t)(columns.node_count - 1),
                                (uint8_t)bits_of(columns.line_high - columns.line_low),
                                (uint8_t)(node_size << NODE_SIZE_SHIFT | column_bits) };
    const struct layout layout = layout_of(header);
    text_append(out, header, sizeof(header));
    block_append_word(out, columns.line_low);
    block_append_word(out, columns.node_low);
    for (size_t i = 0; i < count; i++)
        text_append(out, &rows[i].at, 1);
    for (size_t i = 0; i < columns.node_count; i++) {
        uint32_t node = htole32(columns.nodes[i] - columns.node_low);
        text_append(out, &node, node_size);
    }
    append_rows(&layout, &columns, rows, out);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static inline uint64_t low_bits(uint64_t word, unsigned count)
{
    return word & ((UINT64_C(1) << count) - 1);
}

enum ch_status row_block_find(struct cursor *c, uint8_t at, struct row_block_row *out)
{
    const uint8_t *header = cursor_take(c, 4);
    uint32_t line_low = cursor_u32(c);
    uint32_t node_low = cursor_u32(c);
    if (!cursor_ok(c))
        return CH_ERR_MALFORMED;
    const struct layout layout = layout_of(header);
    const uint8_t *ats = cursor_take(c, layout.rows);
    if (ats == NULL || ats[0] != 0 || layout.line_bits > LINE_BITS_MAX ||
        layout.column_bits > COLUMN_BITS_MAX || layout.node_size > NODE_SIZE_MAX)
        return CH_ERR_MALFORMED;
    // No branch depends on the values: which row it is cannot be predicted.
    size_t row = 0;
    for (size_t i = 1; i < layout.rows; i++)
        row += ats[i] <= at;
    struct cursor nodes = cursor_child(c, nodes_size(&layout));
    size_t bit = row * row_bits(&layout);
    cursor_skip(c, bit / 8);
    uint64_t word = cursor_u64(c) >> bit % 8;
    cursor_skip(&nodes, low_bits(word, layout.node_bits) * layout.node_size);
    uint32_t node = (uint32_t)cursor_uint(&nodes, layout.node_size);
    if (!cursor_ok(c) || !cursor_ok(&nodes))
        return CH_ERR_MALFORMED;
    word >>= layout.node_bits;
    *out = (struct row_block_row){
        .node = node_low + node,
        .line = line_low + (uint32_t)low_bits(word, layout.line_bits),
        .column =
            (uint32_t)(word >> layout.line_bits & ((1u << layout.column_bits) - 1)),
        .at = ats[row],
    };
    return CH_OK;
}
