// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/symbol_cache_write.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/md5.h"
#include "symbolizer/names/intern.h"
#include "symbolizer/names/symbol_cache.h"

// BYTES_MAX is more than any row or node takes.
enum { BYTES_MAX = 96 };

// written is a row as it was written last.
struct written {
    uint32_t offset;
    uint32_t node;
    uint32_t file;
    uint32_t line;
    uint32_t column;
};

struct writer {
    uint64_t text_low;
    struct intern sections[SYMBOL_CACHE_SECTIONS];
    struct written last;    // the base of the next row
    struct written current; // the result written last, across blocks
    size_t block_rows;
};

// bytes is a small buffer for encoding.
struct bytes {
    uint8_t at[BYTES_MAX];
    size_t size;
};

static void put_uleb(struct bytes *to, uint64_t value)
{
    do {
        uint8_t low = value & 0x7f;
        value >>= 7;
        to->at[to->size++] = low | (value != 0 ? 0x80 : 0);
    } while (value != 0);
}

static void put_sleb(struct bytes *to, int64_t value)
{
    for (;;) {
        uint8_t low = value & 0x7f;
        value >>= 7;
        bool over = (value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40));
        to->at[to->size++] = low | (over ? 0 : 0x80);
        if (over)
            return;
    }
}

static void append_u32(struct text *to, uint32_t value)
{
    value = htole32(value);
    text_append(to, &value, sizeof(value));
}

static void cache_append_u64(struct text *to, uint64_t value)
{
    value = htole64(value);
    text_append(to, &value, sizeof(value));
}

static enum ch_status add_string(struct writer *writer,
                                 enum symbol_cache_section section, const char *string,
                                 uint32_t *out)
{
    return intern_add(&writer->sections[section], string, strlen(string) + 1, out);
}

// cache_add_file stores 1 + the number of frame's file, 0 for none.
static enum ch_status cache_add_file(struct writer *writer,
                                     const struct symbol_frame *frame, uint32_t *out)
{
    uint8_t file[sizeof(uint32_t) + MD5_SIZE] = { 0 };
    uint32_t name;
    *out = 0;
    if (frame->file == NULL)
        return CH_OK;
    enum ch_status status = add_string(writer, SYMBOL_CACHE_NAMES, frame->file, &name);
    name = htole32(name);
    memcpy(file, &name, sizeof(name));
    if (frame->file_md5 != NULL)
        memcpy(file + sizeof(name), frame->file_md5, MD5_SIZE);
    if (status == CH_OK)
        status =
            intern_add(&writer->sections[SYMBOL_CACHE_FILES], file, sizeof(file), out);
    *out = *out / (uint32_t)sizeof(file) + 1;
    return status;
}

// cache_add_function stores 1 + the number of frame's function, 0 for none.
static enum ch_status cache_add_function(struct writer *writer,
                                         const struct symbol_frame *frame,
                                         uint32_t *out)
{
    uint32_t names[2] = { 0, 0 };
    *out = 0;
    if (frame->function == NULL)
        return CH_OK;
    enum ch_status status =
        add_string(writer, SYMBOL_CACHE_NAMES, frame->function, &names[0]);
    if (status == CH_OK && strcmp(frame->function, frame->raw_name) != 0) {
        status =
            add_string(writer, SYMBOL_CACHE_LINKER_NAMES, frame->raw_name, &names[1]);
        names[1]++;
    }
    names[0] = htole32(names[0]);
    names[1] = htole32(names[1]);
    if (status == CH_OK)
        status = intern_add(&writer->sections[SYMBOL_CACHE_FUNCTIONS], names,
                            sizeof(names), out);
    *out = *out / (uint32_t)sizeof(names) + 1;
    return status;
}

// add_node stores 1 + the offset of frame's node. caller is the enclosing frame, whose
// node is parent; NULL: there is none.
static enum ch_status add_node(struct writer *writer, const struct symbol_frame *frame,
                               const struct symbol_frame *caller, uint32_t parent,
                               uint32_t *out)
{
    struct bytes node = { .size = 1 };
    uint32_t function;
    uint32_t file;
    enum ch_status status = cache_add_function(writer, frame, &function);
    if (status != CH_OK)
        return status;
    if (frame->inlined)
        node.at[0] |= SYMBOL_CACHE_NODE_INLINED;
    if (frame->of_source)
        node.at[0] |= SYMBOL_CACHE_NODE_OF_SOURCE;
    put_uleb(&node, function);
    bool placed = !frame->inlined && frame->function != NULL &&
                  frame->start >= writer->text_low && frame->entry >= writer->text_low;
    if (placed) {
        node.at[0] |= SYMBOL_CACHE_NODE_START;
        put_uleb(&node, frame->start - writer->text_low);
        put_uleb(&node, frame->entry - writer->text_low);
    }
    if (caller != NULL) {
        status = cache_add_file(writer, caller, &file);
        if (status != CH_OK)
            return status;
        node.at[0] |= SYMBOL_CACHE_NODE_PARENT;
        put_uleb(&node, parent);
        put_uleb(&node, file);
        put_uleb(&node, caller->line);
        put_uleb(&node, caller->column);
    }
    status = intern_add(&writer->sections[SYMBOL_CACHE_NODES], node.at, node.size, out);
    ++*out;
    return status;
}

// cache_add_frames stores the node of the innermost frame; callers are added first.
static enum ch_status cache_add_frames(struct writer *writer,
                                       const struct symbol_frame *frames, size_t count,
                                       uint32_t *out)
{
    uint32_t node = 0;
    for (size_t i = count; i-- > 0;) {
        const struct symbol_frame *caller = i + 1 < count ? &frames[i + 1] : NULL;
        enum ch_status status = add_node(writer, &frames[i], caller, node, &node);
        if (status != CH_OK)
            return status;
    }
    *out = node;
    return CH_OK;
}

static void cache_begin_block(struct writer *writer, uint32_t offset)
{
    struct text *blocks = &writer->sections[SYMBOL_CACHE_BLOCKS].bytes;
    append_u32(blocks, offset);
    append_u32(blocks, (uint32_t)writer->sections[SYMBOL_CACHE_ROWS].bytes.size);
    writer->block_rows = 0;
    writer->last = (struct written){ .offset = offset };
}

// cache_write_row writes what holds from row's offset on.
static enum ch_status cache_write_row(struct writer *writer, const struct written *row)
{
    struct text *rows = &writer->sections[SYMBOL_CACHE_ROWS].bytes;
    struct text *blocks = &writer->sections[SYMBOL_CACHE_BLOCKS].bytes;
    if (blocks->size == 0 || writer->block_rows == SYMBOL_CACHE_BLOCK_ROWS)
        cache_begin_block(writer, row->offset);
    writer->block_rows++;
    const struct written *last = &writer->last;
    bool node = row->node != last->node;
    bool file = row->file != last->file;
    bool place = row->line != last->line || row->column != last->column;
    struct bytes bytes = { .size = 0 };
    put_uleb(&bytes, (uint64_t)(row->offset - last->offset) << SYMBOL_CACHE_ROW_SHIFT |
                         (node ? SYMBOL_CACHE_ROW_NODE : 0) |
                         (file ? SYMBOL_CACHE_ROW_FILE : 0) |
                         (place ? SYMBOL_CACHE_ROW_PLACE : 0));
    if (node)
        put_sleb(&bytes, (int64_t)row->node - last->node);
    if (file)
        put_uleb(&bytes, row->file);
    if (place) {
        put_sleb(&bytes, (int64_t)row->line - last->line);
        put_uleb(&bytes, row->column);
    }
    text_append(rows, bytes.at, bytes.size);
    writer->last = *row;
    return text_ok(rows) && text_ok(blocks) ? CH_OK : CH_ERR_NO_MEMORY;
}

// write_cache_answer adds the frames of image at vaddr, unless they equal those of the
// row before.
static enum ch_status write_cache_answer(struct writer *writer,
                                         struct symbol_image *image, uint64_t vaddr)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct written row = { .offset = (uint32_t)(vaddr - writer->text_low) };
    size_t count = symbol_image_find(image, vaddr, frames);
    enum ch_status status = CH_OK;
    if (count != 0) {
        row.line = frames[0].line;
        row.column = frames[0].column;
        status = cache_add_file(writer, &frames[0], &row.file);
    }
    bool line_alone =
        count == 1 && frames[0].function == NULL && frames[0].file != NULL;
    if (status == CH_OK && !line_alone)
        status = cache_add_frames(writer, frames, count, &row.node);
    const struct written *now = &writer->current;
    bool same = row.node == now->node && row.file == now->file &&
                row.line == now->line && row.column == now->column;
    if (status != CH_OK || same)
        return status;
    writer->current = row;
    return cache_write_row(writer, &row);
}

static void append_checksums(const struct text *data, struct text *out)
{
    for (size_t at = 0; at < data->size; at += SYMBOL_CACHE_PAGE) {
        size_t size = data->size - at;
        size = size < SYMBOL_CACHE_PAGE ? size : SYMBOL_CACHE_PAGE;
        append_u32(out, crc32c(data->bytes + at, size));
    }
}

// append_fields writes the header's members after the header's own checksum, and the
// checksums of the pages of data.
static void append_fields(const struct writer *writer, const struct text *data,
                          uint64_t base, uint64_t text_high, const struct build_id *id,
                          struct text *out)
{
    size_t pages = (data->size + SYMBOL_CACHE_PAGE - 1) / SYMBOL_CACHE_PAGE;
    size_t head = SYMBOL_CACHE_HEADER_SIZE + pages * sizeof(uint32_t);
    head = (head + SYMBOL_CACHE_PAGE - 1) / SYMBOL_CACHE_PAGE * SYMBOL_CACHE_PAGE;
    cache_append_u64(out, head + data->size);
    cache_append_u64(out, base);
    cache_append_u64(out, writer->text_low);
    cache_append_u64(out, text_high);
    append_u32(out, (uint32_t)id->size);
    append_u32(out, (uint32_t)pages);
    text_append(out, id->bytes, sizeof(id->bytes));
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++) {
        append_u32(out, (uint32_t)head);
        append_u32(out, (uint32_t)writer->sections[i].bytes.size);
        head += writer->sections[i].bytes.size;
    }
    append_checksums(data, out);
}

static enum ch_status cache_append_file(const struct writer *writer,
                                        const struct symbol_image *image,
                                        const struct build_id *id, struct text *out)
{
    static const uint8_t nothing[SYMBOL_CACHE_PAGE] = { 0 };
    uint64_t text[2];
    struct text CH_CLEANUP(text_deinit) data = { .limit_bytes = SYMBOL_CACHE_FILE_MAX };
    struct text CH_CLEANUP(text_deinit) fields = { 0 };
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++)
        if (writer->sections[i].bytes.size != 0)
            text_append(&data, writer->sections[i].bytes.bytes,
                        writer->sections[i].bytes.size);
    if (!text_ok(&data))
        return CH_ERR_LIMIT;
    symbol_image_text(image, text);
    append_fields(writer, &data, symbol_image_base(image), text[1], id, &fields);
    if (!text_ok(&fields))
        return CH_ERR_NO_MEMORY;
    text_append(out, SYMBOL_CACHE_MAGIC, SYMBOL_CACHE_MAGIC_SIZE);
    append_u32(out, SYMBOL_CACHE_VERSION);
    append_u32(out, crc32c(fields.bytes, fields.size));
    text_append(out, fields.bytes, fields.size);
    size_t part = (SYMBOL_CACHE_CHECKED_FROM + fields.size) % SYMBOL_CACHE_PAGE;
    if (part != 0)
        text_append(out, nothing, SYMBOL_CACHE_PAGE - part);
    text_append(out, data.bytes, data.size);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status write_answers(struct writer *writer, struct symbol_image *image)
{
    uint64_t text[2];
    symbol_image_text(image, text);
    struct address_list CH_CLEANUP(address_list_deinit) edges = { 0 };
    enum ch_status status = symbol_image_edges(image, &edges);
    if (status == CH_OK && edges.count == 0)
        return CH_ERR_UNSUPPORTED;
    for (size_t i = 0; status == CH_OK && i < edges.count; i++)
        if (edges.items[i] >= text[0] && edges.items[i] < text[1])
            status = write_cache_answer(writer, image, edges.items[i]);
    return status;
}

enum ch_status symbol_cache_write(struct symbol_image *image, const struct build_id *id,
                                  struct text *out)
{
    uint64_t text[2];
    symbol_image_text(image, text);
    if (id->size == 0 || text[0] >= text[1] || text[1] - text[0] > UINT32_MAX)
        return CH_ERR_UNSUPPORTED;
    struct writer writer = { .text_low = text[0] };
    enum ch_status status = write_answers(&writer, image);
    if (status == CH_OK)
        status = cache_append_file(&writer, image, id, out);
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++)
        intern_deinit(&writer.sections[i]);
    return status;
}
