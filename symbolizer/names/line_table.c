// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/line_table.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbolizer/names/line_header.h"

// A line_sequence is a run of rows with ascending addresses.
struct line_sequence {
    size_t first;
    size_t count;
};

// program is the state of the line number program, DWARF 5, section 6.2.2.
struct program {
    struct line_table *table;
    struct line_header header;
    uint64_t text[2];
    uint64_t address;
    uint64_t file;
    int64_t line;
    uint64_t column;
    size_t first_row; // of the current sequence
};

void line_table_deinit(struct line_table *table)
{
    for (size_t i = 0; i < table->files.count; i++)
        free(table->files.items[i].path);
    free(table->files.items);
    free(table->files.directories);
    free(table->rows);
    free(table->sequences);
    address_map_deinit(&table->map);
    *table = (struct line_table){ 0 };
}

static void reset_line_state(struct program *program)
{
    program->address = 0;
    program->file = 1;
    program->line = 1;
    program->column = 0;
    program->first_row = program->table->row_count;
}

// close_sequence adds the rows since the last sequence as [their first address, end).
static enum ch_status close_sequence(struct program *program, uint64_t end)
{
    struct line_table *table = program->table;
    size_t first = program->first_row;
    size_t count = table->row_count - first;
    program->first_row = table->row_count;
    if (count == 0)
        return CH_OK;
    uint64_t low = table->rows[first].address;
    if (low < program->text[0] || end > program->text[1]) {
        table->row_count = program->first_row = first;
        return CH_OK;
    }
    if (table->sequence_count >= ADDRESS_MAP_NONE ||
        !array_reserve(&table->sequences, &table->sequence_capacity,
                       table->sequence_count, sizeof(table->sequences[0])))
        return CH_ERR_NO_MEMORY;
    struct address_range range = { .low = low,
                                   .high = end,
                                   .owner = (uint32_t)table->sequence_count };
    table->sequences[table->sequence_count++] =
        (struct line_sequence){ .first = first, .count = count };
    return address_map_add(&table->map, &range);
}

static struct line_row row_of(const struct program *program)
{
    bool known = program->line > 0 && program->line <= UINT32_MAX;
    return (struct line_row){
        .address = program->address,
        .line = known ? (uint32_t)program->line : 0,
        .column = program->column <= UINT16_MAX ? (uint16_t)program->column : 0,
        .file = program->file < UINT16_MAX ? (uint16_t)program->file : UINT16_MAX,
    };
}

// add_row appends the state as a row. The last row at an address replaces the others.
static enum ch_status add_row(struct program *program)
{
    struct line_table *table = program->table;
    if (table->row_count > program->first_row) {
        struct line_row *last = &table->rows[table->row_count - 1];
        if (last->address == program->address) {
            *last = row_of(program);
            return CH_OK;
        }
        if (last->address > program->address) {
            enum ch_status status = close_sequence(program, last->address + 1);
            if (status != CH_OK)
                return status;
        }
    }
    if (!array_reserve(&table->rows, &table->row_capacity, table->row_count,
                       sizeof(table->rows[0])))
        return CH_ERR_NO_MEMORY;
    table->rows[table->row_count++] = row_of(program);
    return CH_OK;
}

static bool advance_line(struct program *program, int64_t by)
{
    return !__builtin_add_overflow(program->line, by, &program->line);
}

static enum ch_status run_special(struct program *program, uint8_t opcode)
{
    const struct line_header *header = &program->header;
    unsigned adjusted = (unsigned)opcode - header->opcode_base;
    program->address +=
        (uint64_t)(adjusted / header->line_range) * header->instruction_length;
    int by = header->line_base + (int)(adjusted % header->line_range);
    return advance_line(program, by) ? add_row(program) : CH_ERR_MALFORMED;
}

static enum ch_status run_extended(struct program *program)
{
    struct cursor *input = &program->header.program;
    uint64_t size = cursor_uleb128(input);
    if (size > cursor_left(input))
        return CH_ERR_TRUNCATED;
    struct cursor operands = cursor_child(input, (size_t)size);
    switch (cursor_u8(&operands)) {
    case DW_LNE_end_sequence: {
        enum ch_status status = close_sequence(program, program->address);
        reset_line_state(program);
        return status;
    }
    case DW_LNE_set_address:
        program->address = cursor_uint(&operands, cursor_left(&operands));
        return cursor_ok(&operands) ? CH_OK : CH_ERR_MALFORMED;
    default:
        return CH_OK;
    }
}

// skip_standard skips an opcode of a later version by its operand count in the header.
static void skip_standard(struct program *program, uint8_t opcode)
{
    uint8_t count = program->header.operand_counts[opcode];
    for (uint8_t i = 0; i < count; i++)
        (void)cursor_uleb128(&program->header.program);
}

static enum ch_status run_standard(struct program *program, uint8_t opcode)
{
    struct cursor *input = &program->header.program;
    const struct line_header *header = &program->header;
    switch (opcode) {
    case DW_LNS_copy:
        return add_row(program);
    case DW_LNS_advance_pc:
        program->address += cursor_uleb128(input) * header->instruction_length;
        break;
    case DW_LNS_advance_line:
        if (!advance_line(program, cursor_sleb128(input)))
            return CH_ERR_MALFORMED;
        break;
    case DW_LNS_set_file:
        program->file = cursor_uleb128(input);
        break;
    case DW_LNS_set_column:
        program->column = cursor_uleb128(input);
        break;
    case DW_LNS_const_add_pc:
        program->address +=
            (uint64_t)((255u - header->opcode_base) / header->line_range) *
            header->instruction_length;
        break;
    case DW_LNS_fixed_advance_pc:
        program->address += cursor_u16(input);
        break;
    default:
        skip_standard(program, opcode);
        break;
    }
    return CH_OK;
}

static enum ch_status run_program(struct program *program)
{
    struct cursor *input = &program->header.program;
    reset_line_state(program);
    while (cursor_left(input) != 0) {
        uint8_t opcode = cursor_u8(input);
        enum ch_status status;
        if (opcode >= program->header.opcode_base)
            status = run_special(program, opcode);
        else if (opcode == 0)
            status = run_extended(program);
        else
            status = run_standard(program, opcode);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

enum ch_status line_table_read(struct line_table *out, const struct line_source *source)
{
    *out = (struct line_table){ .files.directory = source->directory };
    struct program program = { .table = out,
                               .text = { source->text[0], source->text[1] } };
    enum ch_status status = line_header_read(&program.header, &out->files, source);
    if (status == CH_OK && !source->files_only)
        status = run_program(&program);
    if (status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED)
        status = CH_OK;
    array_trim(&out->rows, &out->row_capacity, out->row_count, sizeof(out->rows[0]));
    if (status == CH_OK)
        status = address_map_build(&out->map);
    if (status != CH_OK)
        line_table_deinit(out);
    return status;
}

const struct line_row *line_table_find(const struct line_table *table, uint64_t vaddr)
{
    uint32_t found = address_map_find(&table->map, vaddr);
    if (found == ADDRESS_MAP_NONE)
        return NULL;
    const struct line_sequence *sequence = &table->sequences[found];
    const struct line_row *rows = &table->rows[sequence->first];
    size_t after = SORTED_UP_TO(rows, sequence->count, address, vaddr);
    return after != 0 ? &rows[after - 1] : NULL;
}

// line_join prefixes directory to path if path is relative; it takes both over.
static char *line_join(const char *directory, char *path)
{
    char *joined;
    if (path == NULL || directory == NULL || directory[0] == 0 || path[0] == '/')
        return path;
    size_t length = strlen(directory);
    const char *slash = directory[length - 1] == '/' ? "" : "/";
    int size = asprintf(&joined, "%s%s%s", directory, slash, path);
    free(path);
    return size < 0 ? NULL : joined;
}

// first_number is what files and directories are numbered from: up to DWARF 4, where
// directory 0 is the unit's own, from 1, in version 5 from 0.
static uint64_t first_number(const struct line_table *table)
{
    return table->files.version < 5 ? 1 : 0;
}

// file_of_number gives the file of that number, or NULL.
static struct line_file *file_of_number(const struct line_table *table, uint64_t number)
{
    uint64_t first = first_number(table);
    return number < first || number - first >= table->files.count
               ? NULL
               : &table->files.items[number - first];
}

const uint8_t *line_table_md5(const struct line_table *table, uint64_t number)
{
    const struct line_file *file = file_of_number(table, number);
    return file != NULL ? file->md5 : NULL;
}

const char *line_table_file(struct line_table *table, uint64_t number)
{
    uint64_t first = first_number(table);
    struct line_file *file = file_of_number(table, number);
    if (file == NULL)
        return NULL;
    if (file->path != NULL)
        return file->path;
    char *path = strdup(file->name);
    if (file->directory >= first &&
        file->directory - first < table->files.directory_count)
        path = line_join(table->files.directories[file->directory - first], path);
    file->path = line_join(table->files.directory, path);
    return file->path;
}
