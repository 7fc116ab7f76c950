// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/symbol_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/md5.h"

enum {
    PAGE_CHECKSUM_SIZE = 4,
    FUNCTION_SIZE = 8,
    FILE_SIZE = 20,
    NODE_SIZE_MAX = 64,
    STRING_MAX = 32 << 20, // more than any name
};

// row is the current row of a block.
struct row {
    uint64_t offset; // from the first address of code
    uint64_t node;   // 1 + its offset in the section; 0: none
    uint64_t file;   // 1 + its number; 0: none
    int64_t line;
    uint64_t column;
};

// symbol_cache_read_header reads what symbol-cache.md describes under Header.
static enum ch_status symbol_cache_read_header(struct symbol_cache *cache,
                                               const struct build_id *id)
{
    struct cursor c = cursor_over(cache->bytes, cache->size);
    const uint8_t *magic = cursor_take(&c, SYMBOL_CACHE_MAGIC_SIZE);
    uint32_t version = cursor_u32(&c);
    uint32_t sum = cursor_u32(&c);
    uint64_t size = cursor_u64(&c);
    cache->base = cursor_u64(&c);
    cache->text[0] = cursor_u64(&c);
    cache->text[1] = cursor_u64(&c);
    struct build_id its_id = { .size = cursor_u32(&c) };
    cache->page_count = cursor_u32(&c);
    const uint8_t *its_bytes = cursor_take(&c, BUILD_ID_MAX);
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++) {
        cache->sections[i].offset = cursor_u32(&c);
        cache->sections[i].size = cursor_u32(&c);
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    if (memcmp(magic, SYMBOL_CACHE_MAGIC, SYMBOL_CACHE_MAGIC_SIZE) != 0)
        return CH_ERR_MALFORMED;
    if (version != SYMBOL_CACHE_VERSION)
        return CH_ERR_UNSUPPORTED;
    const uint8_t *sums =
        cursor_take(&c, (size_t)cache->page_count * PAGE_CHECKSUM_SIZE);
    if (sums == NULL || size != cache->size)
        return CH_ERR_TRUNCATED;
    size_t end = cursor_offset(&c);
    if (crc32c(cache->bytes + SYMBOL_CACHE_CHECKED_FROM,
               end - SYMBOL_CACHE_CHECKED_FROM) != sum)
        return CH_ERR_MALFORMED;
    if (its_id.size > BUILD_ID_MAX || cache->text[0] >= cache->text[1])
        return CH_ERR_MALFORMED;
    memcpy(its_id.bytes, its_bytes, its_id.size);
    cache->data_offset =
        (end + SYMBOL_CACHE_PAGE - 1) & ~(size_t)(SYMBOL_CACHE_PAGE - 1);
    return build_id_equal(id, &its_id) ? CH_OK : CH_ERR_MALFORMED;
}

// sections_fit checks that all sections are in the pages that have checksums.
static bool sections_fit(const struct symbol_cache *cache)
{
    uint64_t pages = (uint64_t)cache->page_count * SYMBOL_CACHE_PAGE;
    if (cache->size < cache->data_offset || cache->size - cache->data_offset > pages)
        return false;
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++) {
        const struct symbol_cache_span *span = &cache->sections[i];
        if (span->offset < cache->data_offset || span->offset > cache->size ||
            span->size > cache->size - span->offset)
            return false;
    }
    return true;
}

enum ch_status symbol_cache_over(struct symbol_cache *out, const void *bytes,
                                 size_t size, const struct build_id *id)
{
    struct symbol_cache cache = { .bytes = bytes, .size = size };
    enum ch_status status = symbol_cache_read_header(&cache, id);
    if (status != CH_OK)
        return status;
    if (!sections_fit(&cache))
        return CH_ERR_MALFORMED;
    size_t pages = cache.page_count / 8 + 1;
    size_t functions =
        cache.sections[SYMBOL_CACHE_FUNCTIONS].size / FUNCTION_SIZE / 8 + 1;
    size_t files = cache.sections[SYMBOL_CACHE_FILES].size / FILE_SIZE / 8 + 1;
    cache.checked = calloc(pages + functions + files, 1);
    if (cache.checked == NULL)
        return CH_ERR_NO_MEMORY;
    cache.functions = cache.checked + pages;
    cache.files = cache.functions + functions;
    *out = cache;
    return CH_OK;
}

enum ch_status symbol_cache_map(struct symbol_cache *out, int fd,
                                const struct build_id *id)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return CH_ERR_IO;
    if (facts.st_size <= 0)
        return CH_ERR_TRUNCATED;
    if (facts.st_size > SYMBOL_CACHE_FILE_MAX)
        return CH_ERR_LIMIT;
    size_t size = (size_t)facts.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_IO;
    enum ch_status status = symbol_cache_over(out, bytes, size, id);
    if (status == CH_OK)
        out->mapped = true;
    else
        munmap(bytes, size);
    return status;
}

void symbol_cache_deinit(struct symbol_cache *cache)
{
    if (cache->mapped)
        munmap((void *)(uintptr_t)cache->bytes, cache->size);
    free(cache->checked);
    *cache = (struct symbol_cache){ 0 };
}

static inline bool cache_is_marked(const uint8_t *bits, size_t number)
{
    return (bits[number / 8] >> number % 8 & 1) != 0;
}

static inline void cache_mark(uint8_t *bits, size_t number)
{
    bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static inline bool is_page_checked(const struct symbol_cache *cache, size_t page)
{
    return cache_is_marked(cache->checked, page);
}

static bool check_page(struct symbol_cache *cache, size_t page)
{
    if (is_page_checked(cache, page))
        return true;
    struct cursor sums = cursor_over(cache->bytes + SYMBOL_CACHE_HEADER_SIZE,
                                     (size_t)cache->page_count * PAGE_CHECKSUM_SIZE);
    size_t begin = cache->data_offset + page * SYMBOL_CACHE_PAGE;
    size_t size = cache->size - begin;
    if (size > SYMBOL_CACHE_PAGE)
        size = SYMBOL_CACHE_PAGE;
    if (crc32c(cache->bytes + begin, size) !=
        cursor_u32_at(&sums, page * PAGE_CHECKSUM_SIZE))
        return false;
    cache_mark(cache->checked, page);
    return true;
}

// checked_bytes gives a cursor over at most size bytes of a section from offset on,
// after verifying their pages. If there are none, it is poisoned.
static struct cursor checked_bytes(struct symbol_cache *cache,
                                   enum symbol_cache_section section, uint64_t offset,
                                   size_t size)
{
    const struct symbol_cache_span *span = &cache->sections[section];
    struct cursor c = cursor_over(cache->bytes, 0);
    bool right = offset < span->size && size != 0;
    if (right && size > span->size - offset)
        size = (size_t)(span->size - offset);
    if (right) {
        size_t begin = span->offset + (size_t)offset;
        size_t first = (begin - cache->data_offset) / SYMBOL_CACHE_PAGE;
        size_t last = (begin + size - 1 - cache->data_offset) / SYMBOL_CACHE_PAGE;
        for (size_t page = first; right && page <= last; page++)
            right = is_page_checked(cache, page) || check_page(cache, page);
        c = cursor_over(cache->bytes + begin, size);
    }
    if (!right)
        cursor_poison(&c);
    return c;
}

// find_string gives the string at offset of a section. It may extend over several
// pages.
static enum ch_status find_string(struct symbol_cache *cache,
                                  enum symbol_cache_section section, uint64_t offset,
                                  const char **out)
{
    for (size_t size = 64; size <= STRING_MAX; size *= 8) {
        struct cursor c = checked_bytes(cache, section, offset, size);
        bool last = cursor_left(&c) < size;
        const char *string = cursor_string(&c);
        if (string != NULL) {
            *out = string;
            return CH_OK;
        }
        if (last)
            return CH_ERR_MALFORMED;
    }
    return CH_ERR_MALFORMED;
}

// block_at reads a block: the offset of its first row, and where its rows begin. False:
// its page is damaged.
static bool block_at(struct symbol_cache *cache, size_t number, uint32_t *out_first,
                     uint32_t *out_rows)
{
    size_t begin = cache->sections[SYMBOL_CACHE_BLOCKS].offset +
                   number * SYMBOL_CACHE_BLOCK_SIZE; // the section is within the file
    size_t first = (begin - cache->data_offset) / SYMBOL_CACHE_PAGE;
    size_t last =
        (begin + SYMBOL_CACHE_BLOCK_SIZE - 1 - cache->data_offset) / SYMBOL_CACHE_PAGE;
    if ((!is_page_checked(cache, first) && !check_page(cache, first)) ||
        (last != first && !is_page_checked(cache, last) && !check_page(cache, last)))
        return false;
    struct cursor c = cursor_over(cache->bytes + begin, SYMBOL_CACHE_BLOCK_SIZE);
    *out_first = cursor_u32(&c);
    *out_rows = cursor_u32(&c);
    return true;
}

// find_block stores the number of the block that contains offset, and its rows.
static enum ch_status find_block(struct symbol_cache *cache, uint32_t offset,
                                 struct cursor *out_rows, uint32_t *out_first)
{
    size_t count = cache->sections[SYMBOL_CACHE_BLOCKS].size / SYMBOL_CACHE_BLOCK_SIZE;
    size_t low = 0;
    size_t high = count;
    uint32_t rows = 0;
    uint32_t rows_end = cache->sections[SYMBOL_CACHE_ROWS].size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t first;
        uint32_t at;
        if (!block_at(cache, middle, &first, &at))
            return CH_ERR_MALFORMED;
        if (first <= offset) {
            *out_first = first;
            rows = at;
            low = middle + 1;
        } else {
            rows_end = at;
            high = middle;
        }
    }
    if (low == 0)
        return CH_END;
    if (rows_end <= rows)
        return CH_ERR_MALFORMED;
    *out_rows = checked_bytes(cache, SYMBOL_CACHE_ROWS, rows, rows_end - rows);
    return cursor_ok(out_rows) ? CH_OK : CH_ERR_MALFORMED;
}

// cache_uleb128 is cursor_uleb128, faster for numbers of one or two bytes, as most are.
static inline uint64_t cache_uleb128(struct cursor *c)
{
    if (cursor_left(c) < 2 || (c->at[0] & c->at[1] & 0x80) != 0)
        return cursor_uleb128(c);
    uint64_t value = c->at[0] & 0x7f;
    bool longer = (c->at[0] & 0x80) != 0;
    value |= longer ? (uint64_t)c->at[1] << 7 : 0;
    c->at += longer ? 2 : 1;
    return value;
}

// cache_sleb128 is cursor_sleb128 likewise.
static inline uint64_t cache_sleb128(struct cursor *c)
{
    const uint8_t *at = c->at;
    if (cursor_left(c) < 2 || (at[0] & at[1] & 0x80) != 0)
        return (uint64_t)cursor_sleb128(c);
    uint64_t value = cache_uleb128(c);
    uint64_t sign = c->at - at == 2 ? 1u << 13 : 1u << 6;
    return (value ^ sign) - sign;
}

// next_row reads one row: members that it does not have keep the previous row's values.
static inline void next_row(struct cursor *c, struct row *row)
{
    uint64_t word = cache_uleb128(c);
    row->offset += word >> SYMBOL_CACHE_ROW_SHIFT;
    if ((word & SYMBOL_CACHE_ROW_NODE) != 0)
        row->node += cache_sleb128(c);
    if ((word & SYMBOL_CACHE_ROW_FILE) != 0)
        row->file = cache_uleb128(c);
    if ((word & SYMBOL_CACHE_ROW_PLACE) != 0) {
        row->line = (int64_t)((uint64_t)row->line + cache_sleb128(c));
        row->column = cache_uleb128(c);
    }
}

// symbol_cache_find_row stores the last row at or before offset. CH_END: there is none.
static enum ch_status symbol_cache_find_row(struct symbol_cache *cache, uint32_t offset,
                                            struct row *out)
{
    struct cursor rows;
    uint32_t first;
    enum ch_status status = find_block(cache, offset, &rows, &first);
    if (status != CH_OK)
        return status;
    struct row row = { .offset = first };
    bool found = false;
    for (int i = 0; cursor_left(&rows) != 0; i++) {
        next_row(&rows, &row);
        if (!cursor_ok(&rows) || i == SYMBOL_CACHE_BLOCK_ROWS)
            return CH_ERR_MALFORMED;
        if (row.offset > offset)
            break;
        *out = row;
        found = true;
    }
    return found ? CH_OK : CH_ERR_MALFORMED;
}

// table_entry gives an entry of a section of entries of one size, of which number is
// one. It is checked unless known says that it was.
static struct cursor table_entry(struct symbol_cache *cache,
                                 enum symbol_cache_section section, uint64_t number,
                                 size_t size, bool known)
{
    const struct symbol_cache_span *span = &cache->sections[section];
    if (known)
        return cursor_over(cache->bytes + span->offset + number * size, size);
    return checked_bytes(cache, section, number * size, size);
}

// known_string gives a string that was found before.
static const char *known_string(const struct symbol_cache *cache,
                                enum symbol_cache_section section, uint32_t offset)
{
    return (const char *)cache->bytes + cache->sections[section].offset + offset;
}

// symbol_cache_find_file stores the name and sum of file number, counted from 1, in
// frame; 0 is none.
static enum ch_status symbol_cache_find_file(struct symbol_cache *cache,
                                             uint64_t number,
                                             struct symbol_frame *frame)
{
    static const uint8_t unknown[MD5_SIZE];
    frame->file = NULL;
    frame->file_md5 = NULL;
    if (number == 0)
        return CH_OK;
    if (number > cache->sections[SYMBOL_CACHE_FILES].size / FILE_SIZE)
        return CH_ERR_MALFORMED;
    bool known = cache_is_marked(cache->files, number - 1);
    struct cursor c =
        table_entry(cache, SYMBOL_CACHE_FILES, number - 1, FILE_SIZE, known);
    uint32_t name = cursor_u32(&c);
    const uint8_t *md5 = cursor_take(&c, MD5_SIZE);
    if (!cursor_ok(&c))
        return CH_ERR_MALFORMED;
    frame->file_md5 = memcmp(md5, unknown, MD5_SIZE) != 0 ? md5 : NULL;
    if (known) {
        frame->file = known_string(cache, SYMBOL_CACHE_NAMES, name);
        return CH_OK;
    }
    enum ch_status status = find_string(cache, SYMBOL_CACHE_NAMES, name, &frame->file);
    if (status == CH_OK)
        cache_mark(cache->files, number - 1);
    return status;
}

// find_names gives the names at these offsets of their sections.
static enum ch_status find_names(struct symbol_cache *cache, uint32_t name,
                                 uint32_t linker_name, struct symbol_frame *frame)
{
    enum ch_status status =
        find_string(cache, SYMBOL_CACHE_NAMES, name, &frame->function);
    frame->raw_name = frame->function;
    if (status == CH_OK && linker_name != 0)
        status = find_string(cache, SYMBOL_CACHE_LINKER_NAMES, linker_name - 1,
                             &frame->raw_name);
    return status;
}

// symbol_cache_find_function gives the name of function number, counted from 1; 0 is
// none.
static enum ch_status symbol_cache_find_function(struct symbol_cache *cache,
                                                 uint64_t number,
                                                 struct symbol_frame *frame)
{
    if (number == 0)
        return CH_OK;
    if (number > cache->sections[SYMBOL_CACHE_FUNCTIONS].size / FUNCTION_SIZE)
        return CH_ERR_MALFORMED;
    bool known = cache_is_marked(cache->functions, number - 1);
    struct cursor c =
        table_entry(cache, SYMBOL_CACHE_FUNCTIONS, number - 1, FUNCTION_SIZE, known);
    uint32_t name = cursor_u32(&c);
    uint32_t linker_name = cursor_u32(&c);
    if (!cursor_ok(&c))
        return CH_ERR_MALFORMED;
    if (known) {
        frame->function = known_string(cache, SYMBOL_CACHE_NAMES, name);
        frame->raw_name =
            linker_name != 0
                ? known_string(cache, SYMBOL_CACHE_LINKER_NAMES, linker_name - 1)
                : frame->function;
        return CH_OK;
    }
    enum ch_status status = find_names(cache, name, linker_name, frame);
    if (status == CH_OK)
        cache_mark(cache->functions, number - 1);
    return status;
}

// read_node fills frame from the node at *node, and caller with the call site of frame.
// It replaces *node by the node of the caller, which is stored before this one, so that
// following parents always ends.
static enum ch_status read_node(struct symbol_cache *cache, uint64_t *node,
                                struct symbol_frame *frame, struct symbol_frame *caller)
{
    uint64_t at = *node - 1;
    struct cursor c = checked_bytes(cache, SYMBOL_CACHE_NODES, at, NODE_SIZE_MAX);
    uint8_t flags = cursor_u8(&c);
    uint64_t function = cache_uleb128(&c);
    bool has_start = (flags & SYMBOL_CACHE_NODE_START) != 0;
    bool has_parent = (flags & SYMBOL_CACHE_NODE_PARENT) != 0;
    uint64_t start = has_start ? cache_uleb128(&c) : 0;
    uint64_t entry = has_start ? cache_uleb128(&c) : 0;
    uint64_t parent = has_parent ? cache_uleb128(&c) : 0;
    uint64_t file = has_parent ? cache_uleb128(&c) : 0;
    uint64_t line = has_parent ? cache_uleb128(&c) : 0;
    uint64_t column = has_parent ? cache_uleb128(&c) : 0;
    if (!cursor_ok(&c) || (has_parent && (parent == 0 || parent > at)))
        return CH_ERR_MALFORMED;
    frame->inlined = (flags & SYMBOL_CACHE_NODE_INLINED) != 0;
    frame->of_source = (flags & SYMBOL_CACHE_NODE_OF_SOURCE) != 0;
    if (has_start) {
        frame->start = cache->text[0] + start;
        frame->entry = cache->text[0] + entry;
    }
    *node = parent;
    *caller =
        (struct symbol_frame){ .line = (uint32_t)line, .column = (uint32_t)column };
    enum ch_status status = symbol_cache_find_function(cache, function, frame);
    return status == CH_OK ? symbol_cache_find_file(cache, file, caller) : status;
}

enum ch_status symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                                 struct symbol_frame frames[SYMBOL_FRAMES_MAX],
                                 size_t *out_count)
{
    struct row row = { 0 };
    size_t count = 0;
    if (vaddr >= cache->text[0] && vaddr < cache->text[1]) {
        enum ch_status status =
            symbol_cache_find_row(cache, (uint32_t)(vaddr - cache->text[0]), &row);
        if (status != CH_OK && status != CH_END)
            return status;
    }
    struct symbol_frame next = { .line = (uint32_t)row.line,
                                 .column = (uint32_t)row.column };
    enum ch_status status = symbol_cache_find_file(cache, row.file, &next);
    while (status == CH_OK && row.node != 0 && count < SYMBOL_FRAMES_MAX) {
        next.entry = next.start = vaddr;
        frames[count] = next;
        status = read_node(cache, &row.node, &frames[count], &next);
        count++;
    }
    if (status != CH_OK)
        return status;
    if (count == 0 && next.file != NULL) {
        next.entry = next.start = vaddr;
        frames[count++] = next;
    }
    *out_count = count;
    return CH_OK;
}
