// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/line_table.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/sorted.h"
#include "base/status.h"
#include "report/file/digest.h"

enum { FORMATS_MAX = 32 };

// reading is the state of reading a header.
struct reading {
    struct cursor input;
    const struct line_source *source;
    struct line_files *files;
    uint8_t offset_size;
};

// A column of a table of directories or files, DWARF 5, section 6.2.4.1.
struct column {
    uint64_t content;
    uint64_t form;
};

static enum ch_status add_directory(struct line_files *files, const char *name)
{
    if (!array_reserve(&files->directories, &files->directory_capacity,
                       files->directory_count, sizeof(name)))
        return CH_ERR_NO_MEMORY;
    files->directories[files->directory_count++] = name;
    return CH_OK;
}

static enum ch_status line_header_add_file(struct line_files *files, const char *name,
                                           uint64_t directory, const uint8_t *md5)
{
    if (!array_reserve(&files->items, &files->capacity, files->count,
                       sizeof(files->items[0])))
        return CH_ERR_NO_MEMORY;
    files->items[files->count++] =
        (struct line_file){ .name = name, .directory = directory, .md5 = md5 };
    return CH_OK;
}

// line_header_string_at gives the string at offset of a section, NULL if it is not
// terminated there.
static const char *line_header_string_at(struct cursor section, uint64_t offset)
{
    if (offset > cursor_left(&section))
        return NULL;
    cursor_skip(&section, (size_t)offset);
    return cursor_string(&section);
}

// read_header_string reads a value of a string form, and poisons the input at other
// forms.
static const char *read_header_string(struct reading *reading, uint64_t form)
{
    struct cursor *input = &reading->input;
    const char *string = NULL;
    switch (form) {
    case DW_FORM_string:
        return cursor_string(input);
    case DW_FORM_line_strp:
        string = line_header_string_at(reading->source->line_strings,
                                       cursor_uint(input, reading->offset_size));
        break;
    case DW_FORM_strp:
        string = line_header_string_at(reading->source->strings,
                                       cursor_uint(input, reading->offset_size));
        break;
    default:
        cursor_poison(input);
        break;
    }
    return string != NULL ? string : "";
}

// line_header_read_number reads a value of a numeric form, or skips one of another
// form.
static uint64_t line_header_read_number(struct reading *reading, uint64_t form)
{
    struct cursor *input = &reading->input;
    switch (form) {
    case DW_FORM_data1:
        return cursor_u8(input);
    case DW_FORM_data2:
        return cursor_u16(input);
    case DW_FORM_data4:
        return cursor_u32(input);
    case DW_FORM_data8:
        return cursor_u64(input);
    case DW_FORM_udata:
        return cursor_uleb128(input);
    case DW_FORM_data16:
        cursor_skip(input, 16);
        return 0;
    case DW_FORM_block:
        cursor_skip(input, (size_t)cursor_uleb128(input));
        return 0;
    default:
        (void)read_header_string(reading, form);
        return 0;
    }
}

static size_t read_columns(struct reading *reading, struct column columns[FORMATS_MAX])
{
    size_t count = cursor_u8(&reading->input);
    if (count > FORMATS_MAX)
        cursor_poison(&reading->input);
    for (size_t i = 0; cursor_ok(&reading->input) && i < count; i++) {
        columns[i].content = cursor_uleb128(&reading->input);
        columns[i].form = cursor_uleb128(&reading->input);
    }
    return cursor_ok(&reading->input) ? count : 0;
}

static enum ch_status read_row(struct reading *reading, const struct column *columns,
                               size_t count, bool is_file)
{
    const char *name = "";
    uint64_t directory = 0;
    const uint8_t *md5 = NULL;
    for (size_t i = 0; i < count; i++) {
        if (columns[i].content == DW_LNCT_MD5 && columns[i].form == DW_FORM_data16)
            md5 = cursor_take(&reading->input, MD5_SIZE);
        else if (columns[i].content == DW_LNCT_path)
            name = read_header_string(reading, columns[i].form);
        else if (columns[i].content == DW_LNCT_directory_index)
            directory = line_header_read_number(reading, columns[i].form);
        else
            (void)line_header_read_number(reading, columns[i].form);
    }
    if (!cursor_ok(&reading->input))
        return CH_ERR_TRUNCATED;
    return is_file ? line_header_add_file(reading->files, name, directory, md5)
                   : add_directory(reading->files, name);
}

// read_rows reads the directories or the files of version 5.
static enum ch_status read_rows(struct reading *reading, bool is_file)
{
    struct column columns[FORMATS_MAX];
    size_t column_count = read_columns(reading, columns);
    uint64_t count = cursor_uleb128(&reading->input);
    // Rows without columns take no bytes, so the input would not limit their number.
    if (column_count == 0)
        return cursor_ok(&reading->input) && count == 0 ? CH_OK : CH_ERR_MALFORMED;
    for (uint64_t i = 0; i < count; i++) {
        enum ch_status status = read_row(reading, columns, column_count, is_file);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// read_lists reads the directories and files of versions 2 to 4; an empty name ends
// each list.
static enum ch_status read_lists(struct reading *reading)
{
    struct cursor *input = &reading->input;
    enum ch_status status = CH_OK;
    const char *name;
    while (status == CH_OK && (name = cursor_string(input)) != NULL && name[0] != 0)
        status = add_directory(reading->files, name);
    while (status == CH_OK && (name = cursor_string(input)) != NULL && name[0] != 0) {
        uint64_t directory = cursor_uleb128(input);
        (void)cursor_uleb128(input); // its time of modification
        (void)cursor_uleb128(input); // its size
        if (cursor_ok(input))
            status = line_header_add_file(reading->files, name, directory, NULL);
    }
    if (status == CH_OK && !cursor_ok(input))
        status = CH_ERR_TRUNCATED;
    return status;
}

static void line_header_read_encoding(struct reading *reading, struct line_header *out)
{
    struct cursor *input = &reading->input;
    out->instruction_length = cursor_u8(input);
    if (reading->files->version >= 4)
        cursor_skip(input, 1); // operations per instruction, for VLIW machines only
    cursor_skip(input, 1);     // whether rows begin as statements
    out->line_base = (int8_t)cursor_u8(input);
    out->line_range = cursor_u8(input);
    out->opcode_base = cursor_u8(input);
    for (unsigned i = 1; i < out->opcode_base; i++)
        out->operand_counts[i] = cursor_u8(input);
    if (out->line_range == 0 || out->opcode_base == 0)
        cursor_poison(input);
}

// open_table limits the input to the table at its offset.
static enum ch_status open_table(struct reading *reading)
{
    struct cursor *input = &reading->input;
    *input = reading->source->lines;
    cursor_seek(input, reading->source->offset <= SIZE_MAX
                           ? (size_t)reading->source->offset
                           : SIZE_MAX);
    uint64_t size = cursor_u32(input);
    reading->offset_size = size == UINT32_MAX ? 8 : 4;
    if (size == UINT32_MAX)
        size = cursor_u64(input);
    if (!cursor_ok(input) || size > cursor_left(input))
        return CH_ERR_TRUNCATED;
    *input = cursor_child(input, (size_t)size);
    reading->files->version = cursor_u16(input);
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;
    return reading->files->version >= 2 && reading->files->version <= 5
               ? CH_OK
               : CH_ERR_UNSUPPORTED;
}

// line_header_read reads the header of the table at source and adds its directories and
// files to files.
static enum ch_status line_header_read(struct line_header *out,
                                       struct line_files *files,
                                       const struct line_source *source)
{
    struct reading reading = { .source = source, .files = files };
    enum ch_status status = open_table(&reading);
    if (status != CH_OK)
        return status;
    if (files->version >= 5)
        cursor_skip(&reading.input, 2); // sizes of addresses and segment selectors
    uint64_t size = cursor_uint(&reading.input, reading.offset_size);
    if (!cursor_ok(&reading.input) || size > cursor_left(&reading.input))
        return CH_ERR_TRUNCATED;
    // The program is the rest of the table after the header.
    out->program = reading.input;
    reading.input = cursor_child(&out->program, (size_t)size);
    line_header_read_encoding(&reading, out);
    if (!cursor_ok(&reading.input))
        return CH_ERR_MALFORMED;
    if (files->version < 5)
        return read_lists(&reading);
    status = read_rows(&reading, false);
    return status == CH_OK ? read_rows(&reading, true) : status;
}

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
