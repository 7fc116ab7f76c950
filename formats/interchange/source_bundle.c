// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/source_bundle.h"

#include <inttypes.h>
#include <string.h>

static const char first_line[] = "crashhook sources 1\n";

enum { SIZE_DIGITS = 9, LINE_BYTES = SIZE_DIGITS + 1 + SOURCE_BUNDLE_PATH_BYTES };

// read_index_line gives the rest of the line at input without its newline, at most
// LINE_BYTES.
static enum ch_status read_index_line(struct cursor *input, struct cursor *out)
{
    struct cursor ahead = *input;
    size_t size = 0;
    while (size <= LINE_BYTES && cursor_left(&ahead) != 0 && cursor_u8(&ahead) != '\n')
        size++;
    if (size > LINE_BYTES)
        return CH_ERR_LIMIT;
    if (size == cursor_left(input))
        return CH_ERR_TRUNCATED;
    *out = cursor_child(input, size);
    cursor_skip(input, 1);
    return CH_OK;
}

// bundle_read_size reads decimal digits and the space after them.
static enum ch_status bundle_read_size(struct cursor *line, uint64_t *out)
{
    uint64_t size = 0;
    size_t digits = 0;
    uint8_t c;
    while ((c = cursor_u8(line)) >= '0' && c <= '9' && digits++ < SIZE_DIGITS)
        size = size * 10 + (uint64_t)(c - '0');
    if (!cursor_ok(line) || digits == 0 || c != ' ')
        return CH_ERR_MALFORMED;
    *out = size;
    return size <= SOURCE_BUNDLE_FILE_BYTES ? CH_OK : CH_ERR_LIMIT;
}

enum ch_status source_bundle_read(struct source_bundle_reader *reader,
                                  const void *bytes, size_t size)
{
    *reader = (struct source_bundle_reader){
        .input = cursor_over(
            bytes, size < SOURCE_BUNDLE_INDEX_BYTES ? size : SOURCE_BUNDLE_INDEX_BYTES)
    };
    size_t length = sizeof(first_line) - 1;
    const uint8_t *line = cursor_take(&reader->input, length);
    return line != NULL && memcmp(line, first_line, length) == 0 ? CH_OK
                                                                 : CH_ERR_UNSUPPORTED;
}

enum ch_status source_bundle_next(struct source_bundle_reader *reader,
                                  struct source_bundle_file *out)
{
    struct cursor line;
    struct source_bundle_file file = { .offset = reader->offset };
    enum ch_status status = read_index_line(&reader->input, &line);
    if (status != CH_OK)
        return status;
    if (cursor_left(&line) == 0)
        return CH_END;
    status = bundle_read_size(&line, &file.size);
    if (status != CH_OK)
        return status;
    file.path_size = cursor_left(&line);
    file.path = (const char *)cursor_take(&line, file.path_size);
    if (file.path_size == 0 || memchr(file.path, 0, file.path_size) != NULL)
        return CH_ERR_MALFORMED;
    if (reader->count == SOURCE_BUNDLE_FILES)
        return CH_ERR_LIMIT;
    reader->count++;
    reader->offset += file.size; // at most FILES times FILE_BYTES
    *out = file;
    return CH_OK;
}

size_t source_bundle_index_size(const struct source_bundle_reader *reader)
{
    return cursor_offset(&reader->input);
}

enum ch_status source_bundle_check(const void *bytes, size_t size)
{
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    if (size > SOURCE_BUNDLE_BYTES)
        return CH_ERR_LIMIT;
    enum ch_status status = source_bundle_read(&reader, bytes, size);
    while (status == CH_OK)
        status = source_bundle_next(&reader, &file);
    if (status != CH_END)
        return status;
    uint64_t whole = source_bundle_index_size(&reader) + reader.offset;
    if (whole == size)
        return CH_OK;
    return whole > size ? CH_ERR_TRUNCATED : CH_ERR_MALFORMED;
}

bool source_bundle_find(struct cursor bundle, const char *path, struct cursor *out)
{
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    const size_t length = strlen(path);
    uint64_t begin = 0;
    uint64_t end = 0;
    enum ch_status status =
        source_bundle_read(&reader, bundle.at, cursor_left(&bundle));
    while (status == CH_OK && (status = source_bundle_next(&reader, &file)) == CH_OK) {
        if (file.path_size != length || memcmp(file.path, path, length) != 0)
            continue;
        if (end != file.offset || end == 0)
            begin = file.offset;
        end = file.offset + file.size;
    }
    if (status != CH_END || end == begin)
        return false;
    cursor_skip(&bundle, source_bundle_index_size(&reader));
    if (end > cursor_left(&bundle))
        return false;
    cursor_skip(&bundle, begin);
    *out = cursor_child(&bundle, end - begin);
    return cursor_ok(out);
}

void source_bundle_write_begin(struct text *out)
{
    text_append_string(out, first_line);
}

enum ch_status source_bundle_write_file(struct text *out, const char *path,
                                        uint64_t size)
{
    size_t length = strlen(path);
    if (length == 0 || length > SOURCE_BUNDLE_PATH_BYTES || strchr(path, '\n') != NULL)
        return CH_ERR_MALFORMED;
    text_appendf(out, "%" PRIu64 " %s\n", size, path);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

void source_bundle_write_end(struct text *out)
{
    text_append_string(out, "\n");
}
