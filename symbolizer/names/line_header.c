// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/line_header.h"

#include <dwarf.h>
#include <string.h>

#include "base/array.h"
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

enum ch_status line_header_read(struct line_header *out, struct line_files *files,
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
