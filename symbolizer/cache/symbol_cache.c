// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/symbol_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "report/file/digest.h"
#include "symbolizer/cache/packed_name.h"
#include "symbolizer/cache/row_block.h"

enum {
    PAGE_CHECKSUM_SIZE = 4,
    FILE_SIZE = 20,
    NAME_HEADER_MAX = 5,
    STRING_MAX = 32 << 20, // more than any name
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
        cache.sections[SYMBOL_CACHE_FUNCTIONS].size / SYMBOL_CACHE_FUNCTION_SIZE / 8 +
        1;
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
    free(cache->unpacked);
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

// check_page is kept out of lookups, where nearly every page has been checked.
__attribute__((noinline)) static bool check_page(struct symbol_cache *cache,
                                                 size_t page)
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

// are_pages_checked returns true if the pages of size bytes, at least one, from offset
// of the file on are in order.
__attribute__((always_inline)) static inline bool
are_pages_checked(struct symbol_cache *cache, size_t offset, size_t size)
{
    size_t page = (offset - cache->data_offset) / SYMBOL_CACHE_PAGE;
    size_t last = (offset + size - 1 - cache->data_offset) / SYMBOL_CACHE_PAGE;
    bool right = true;
    for (; right && page <= last; page++)
        right = is_page_checked(cache, page) || check_page(cache, page);
    return right;
}

// checked_bytes gives a cursor over at most size bytes of a section from offset on,
// after verifying their pages unless they are known. If there are none, it is poisoned.
__attribute__((always_inline)) static inline struct cursor
checked_bytes(struct symbol_cache *cache, enum symbol_cache_section section,
              uint64_t offset, size_t size, bool known)
{
    const struct symbol_cache_span *span = &cache->sections[section];
    struct cursor c = cursor_over(cache->bytes, 0);
    bool right = offset < span->size && size != 0;
    if (right && size > span->size - offset)
        size = (size_t)(span->size - offset);
    if (right) {
        size_t begin = span->offset + (size_t)offset;
        right = known || are_pages_checked(cache, begin, size);
        c = cursor_over(cache->bytes + begin, size);
    }
    if (!right)
        cursor_poison(&c);
    return c;
}

// row_block_at gives the block of rows that has offset; poisoned: there is none. Known:
// the pages are not checked.
static inline struct cursor row_block_at(struct symbol_cache *cache, uint32_t offset,
                                         bool known)
{
    size_t index = (size_t)(offset >> ROW_BLOCK_SHIFT) * SYMBOL_CACHE_BLOCK_SIZE;
    struct cursor block = checked_bytes(cache, SYMBOL_CACHE_BLOCKS, index,
                                        SYMBOL_CACHE_BLOCK_SIZE, known);
    uint32_t at = cursor_u32(&block);
    if (!cursor_ok(&block))
        return block;
    struct cursor c =
        checked_bytes(cache, SYMBOL_CACHE_ROWS, at, ROW_BLOCK_HEADER_SIZE, known);
    const uint8_t *header = cursor_take(&c, ROW_BLOCK_HEADER_SIZE);
    return header != NULL ? checked_bytes(cache, SYMBOL_CACHE_ROWS, at,
                                          row_block_size(header), known)
                          : c;
}

// find_linker_name gives a string of the section of linker's names. It may extend over
// several pages.
static enum ch_status find_linker_name(struct symbol_cache *cache, uint32_t offset,
                                       const char **out)
{
    for (size_t size = 64; size <= STRING_MAX; size *= 8) {
        struct cursor c =
            checked_bytes(cache, SYMBOL_CACHE_LINKER_NAMES, offset, size, false);
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

// stored_name is a name in the file: a string, or packed.
struct stored_name {
    const char *string; // NULL: it is packed
    const uint8_t *packed;
    size_t packed_limit; // of the bytes there
    size_t size;
};

// name_header_word reads the number of at most NAME_HEADER_MAX bytes before a name.
static inline uint64_t name_header_word(struct cursor *c)
{
    uint64_t word = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte >= 0x80 && cursor_ok(c); shift += 7) {
        byte = cursor_u8(c);
        word |= (uint64_t)(byte & 0x7f) << shift;
    }
    return word;
}

// cache_read_name finds the name at offset. Known is one that was read before.
static inline bool cache_read_name(struct symbol_cache *cache, uint32_t offset,
                                   bool known, struct stored_name *out)
{
    struct cursor c =
        checked_bytes(cache, SYMBOL_CACHE_NAMES, offset, NAME_HEADER_MAX, known);
    uint64_t word = name_header_word(&c);
    size_t size = (size_t)(word >> SYMBOL_CACHE_NAME_SHIFT);
    bool packed = (word & SYMBOL_CACHE_NAME_PACKED) != 0;
    if (!cursor_ok(&c) || size > (packed ? (size_t)PACKED_NAME_MAX : STRING_MAX))
        return false;
    // A packed name is shorter than the name.
    c = checked_bytes(cache, SYMBOL_CACHE_NAMES, offset + cursor_offset(&c), size + 1,
                      known);
    out->size = size;
    out->packed_limit = cursor_left(&c);
    out->packed = cursor_take(&c, packed ? 0 : size + 1);
    out->string = packed ? NULL : (const char *)out->packed;
    return out->packed != NULL && (packed || out->packed[size] == 0);
}

// symbol_cache_find_file stores the name and sum of file number, counted from 1, in
// frame; 0 is none.
static enum ch_status symbol_cache_find_file(struct symbol_cache *cache,
                                             uint64_t number,
                                             struct symbol_frame *frame)
{
    static const uint8_t unknown[MD5_SIZE];
    struct stored_name name;
    if (number == 0)
        return CH_OK;
    if (number > cache->sections[SYMBOL_CACHE_FILES].size / FILE_SIZE)
        return CH_ERR_MALFORMED;
    bool known = cache_is_marked(cache->files, number - 1);
    struct cursor c = checked_bytes(cache, SYMBOL_CACHE_FILES, (number - 1) * FILE_SIZE,
                                    FILE_SIZE, known);
    uint32_t offset = cursor_u32(&c);
    const uint8_t *md5 = cursor_take(&c, MD5_SIZE);
    if (!cursor_ok(&c) || !cache_read_name(cache, offset, known, &name) ||
        name.string == NULL)
        return CH_ERR_MALFORMED;
    frame->file = name.string;
    frame->file_md5 = memcmp(md5, unknown, MD5_SIZE) != 0 ? md5 : NULL;
    if (!known)
        cache_mark(cache->files, number - 1);
    return CH_OK;
}

// symbol_cache_find_function gives the name of function number, counted from 1; 0 is
// none. The linker's name is NULL where it is the same.
static enum ch_status symbol_cache_find_function(struct symbol_cache *cache,
                                                 uint64_t number,
                                                 struct stored_name *out,
                                                 const char **out_linker_name)
{
    enum { SIZE = SYMBOL_CACHE_FUNCTION_SIZE };
    if (number > cache->sections[SYMBOL_CACHE_FUNCTIONS].size / SIZE)
        return CH_ERR_MALFORMED;
    bool known = cache_is_marked(cache->functions, number - 1);
    struct cursor c =
        checked_bytes(cache, SYMBOL_CACHE_FUNCTIONS, (number - 1) * SIZE, SIZE, known);
    uint32_t name = cursor_u32(&c);
    uint32_t linker_name = cursor_u32(&c);
    if (!cursor_ok(&c) || !cache_read_name(cache, name, known, out))
        return CH_ERR_MALFORMED;
    *out_linker_name = NULL;
    if (cache->no_linker_names)
        linker_name = 0;
    if (linker_name != 0 && known)
        *out_linker_name = (const char *)cache->bytes +
                           cache->sections[SYMBOL_CACHE_LINKER_NAMES].offset +
                           linker_name - 1;
    else if (linker_name != 0 &&
             find_linker_name(cache, linker_name - 1, out_linker_name) != CH_OK)
        return CH_ERR_MALFORMED;
    if (!known)
        cache_mark(cache->functions, number - 1);
    return CH_OK;
}

// answer is one that is being put together: its frames, and the packed names among
// them.
struct answer {
    struct symbol_frame *frames;
    size_t count;
    size_t unpacked_size;
    size_t packed_count;
    uint8_t packed_frames[SYMBOL_FRAMES_MAX]; // of which frames they are
    struct stored_name packed[SYMBOL_FRAMES_MAX];
};

static enum ch_status answer_name(struct symbol_cache *cache, uint32_t function,
                                  struct answer *answer)
{
    struct symbol_frame *frame = &answer->frames[answer->count];
    struct stored_name *name = &answer->packed[answer->packed_count];
    if (function == 0)
        return CH_OK;
    enum ch_status status =
        symbol_cache_find_function(cache, function, name, &frame->raw_name);
    if (status != CH_OK)
        return status;
    frame->function = name->string;
    if (frame->raw_name == NULL && !cache->no_linker_names)
        frame->raw_name = name->string;
    if (name->string == NULL) {
        answer->packed_frames[answer->packed_count++] = (uint8_t)answer->count;
        answer->unpacked_size += name->size + 1;
    }
    return CH_OK;
}

// read_node adds the frame of node number *node, counted from 1, whose line and column
// are known, to answer, and stores those of its caller. It replaces *node by the node
// of the caller, which is stored before this one, so that following parents always
// ends.
static enum ch_status read_node(struct symbol_cache *cache, uint32_t *node,
                                struct answer *answer, uint32_t *line, uint32_t *column)
{
    struct symbol_frame *frame = &answer->frames[answer->count];
    struct cursor c = checked_bytes(cache, SYMBOL_CACHE_NODES,
                                    (uint64_t)(*node - 1) * SYMBOL_CACHE_NODE_SIZE,
                                    SYMBOL_CACHE_NODE_SIZE, false);
    uint32_t flags = cursor_u32(&c);
    uint32_t start = cursor_u32(&c);
    uint64_t place = cursor_u64(&c);
    uint32_t parent = (flags & SYMBOL_CACHE_NODE_PARENT) != 0 ? start : 0;
    if (!cursor_ok(&c) || parent >= *node)
        return CH_ERR_MALFORMED;
    uint64_t rest = place >> SYMBOL_CACHE_FILE_BITS;
    frame->inlined = (flags & SYMBOL_CACHE_NODE_INLINED) != 0;
    frame->of_source = (flags & SYMBOL_CACHE_NODE_OF_SOURCE) != 0;
    frame->line = *line;
    frame->column = *column;
    if ((flags & SYMBOL_CACHE_NODE_START) != 0) {
        frame->start = cache->text[0] + start;
        frame->entry = cache->text[0] + (uint32_t)rest;
    }
    *node = parent;
    *line = (uint32_t)(rest & ((1u << SYMBOL_CACHE_LINE_BITS) - 1));
    *column = (uint32_t)(rest >> SYMBOL_CACHE_LINE_BITS);
    enum ch_status status =
        answer_name(cache, flags >> SYMBOL_CACHE_NODE_SHIFT, answer);
    if (status == CH_OK)
        status = symbol_cache_find_file(
            cache, place & ((1u << SYMBOL_CACHE_FILE_BITS) - 1), frame);
    answer->count++;
    return status;
}

// unpack_names unpacks the names of an answer, all of whose sizes are known by then: so
// none of them moves.
static enum ch_status unpack_names(struct symbol_cache *cache, struct answer *answer)
{
    char *to = cache->unpacked;
    if (answer->unpacked_size > cache->unpacked_capacity) {
        if (!array_grow(&cache->unpacked, &cache->unpacked_capacity,
                        answer->unpacked_size, 1))
            return CH_ERR_NO_MEMORY;
        to = cache->unpacked;
    }
    for (size_t i = 0; i < answer->packed_count; i++) {
        const struct stored_name *name = &answer->packed[i];
        struct symbol_frame *frame = &answer->frames[answer->packed_frames[i]];
        struct cursor c = cursor_over(name->packed, name->packed_limit);
        if (!packed_name_read(&c, to, name->size))
            return CH_ERR_MALFORMED;
        frame->function = to;
        if (frame->raw_name == NULL && !cache->no_linker_names)
            frame->raw_name = to;
        to += name->size + 1;
    }
    return CH_OK;
}

// symbol_cache_find_row stores the row that holds at an address of code.
static enum ch_status symbol_cache_find_row(struct symbol_cache *cache, uint64_t vaddr,
                                            struct row_block_row *out, bool known)
{
    uint32_t offset = (uint32_t)(vaddr - cache->text[0]);
    struct cursor c = row_block_at(cache, offset, known);
    return row_block_find(&c, (uint8_t)offset, out);
}

enum { ROWS_FETCHED = 192, NAME_FETCHED = 256 }; // bytes of most blocks and names

// fetch_bytes fetches size bytes at offset of a section, if they are in it. They are
// read, as an instruction that prefetches does nothing on some machines where the
// page's translation is not at hand either; nobody waits for the values.
static void fetch_bytes(const struct symbol_cache *cache,
                        enum symbol_cache_section section, uint64_t offset, size_t size)
{
    enum { LINE = 64 };
    const struct symbol_cache_span *span = &cache->sections[section];
    if (offset >= span->size || span->size - offset < size)
        return;
    const volatile uint8_t *at = cache->bytes + span->offset + offset;
    for (size_t i = 0; i < size; i += LINE)
        (void)at[i];
}

// next_function gives the function of the node of number *node, and replaces *node by
// its parent.
static uint32_t next_function(struct symbol_cache *cache, uint32_t *node)
{
    struct cursor c = checked_bytes(cache, SYMBOL_CACHE_NODES,
                                    (uint64_t)(*node - 1) * SYMBOL_CACHE_NODE_SIZE,
                                    SYMBOL_CACHE_NODE_SIZE, true);
    uint32_t flags = cursor_u32(&c);
    uint32_t parent = cursor_u32(&c);
    bool has_parent = (flags & SYMBOL_CACHE_NODE_PARENT) != 0 && parent < *node;
    *node = has_parent ? parent : 0;
    return flags >> SYMBOL_CACHE_NODE_SHIFT;
}

// fetch_functions fetches the functions of a node and those around it, or if names is
// true, their names.
static void fetch_functions(struct symbol_cache *cache, uint32_t node, bool names)
{
    for (size_t i = 0; node != 0 && i < SYMBOL_FRAMES_MAX; i++) {
        uint64_t at = (uint64_t)next_function(cache, &node) - 1;
        at *= SYMBOL_CACHE_FUNCTION_SIZE;
        if (!names) {
            fetch_bytes(cache, SYMBOL_CACHE_FUNCTIONS, at, 1);
            continue;
        }
        struct cursor c = checked_bytes(cache, SYMBOL_CACHE_FUNCTIONS, at,
                                        SYMBOL_CACHE_FUNCTION_SIZE, true);
        fetch_bytes(cache, SYMBOL_CACHE_NAMES, cursor_u32(&c), NAME_FETCHED);
    }
}

// symbol_cache_expect does the steps of a lookup, each for all addresses before the
// next one, so that each finds in the processor's cache what the step before it has
// asked for. They check no page, as nothing that they read is part of an answer.
void symbol_cache_expect(struct symbol_cache *cache, const uint64_t *vaddrs,
                         size_t count)
{
    struct row_block_row rows[SYMBOL_CACHE_EXPECTED_MAX];
    if (count > SYMBOL_CACHE_EXPECTED_MAX)
        count = SYMBOL_CACHE_EXPECTED_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t index = (vaddrs[i] - cache->text[0]) >> ROW_BLOCK_SHIFT;
        struct cursor block =
            checked_bytes(cache, SYMBOL_CACHE_BLOCKS, index * SYMBOL_CACHE_BLOCK_SIZE,
                          SYMBOL_CACHE_BLOCK_SIZE, true);
        fetch_bytes(cache, SYMBOL_CACHE_ROWS, cursor_u32(&block), ROWS_FETCHED);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].node = 0;
        (void)!symbol_cache_find_row(cache, vaddrs[i], &rows[i], true);
        fetch_bytes(cache, SYMBOL_CACHE_NODES,
                    ((uint64_t)rows[i].node - 1) * SYMBOL_CACHE_NODE_SIZE, 1);
    }
    for (size_t i = 0; i < 2 * count; i++)
        fetch_functions(cache, rows[i % count].node, i >= count);
}

enum ch_status symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                                 struct symbol_frame frames[SYMBOL_FRAMES_MAX],
                                 size_t *out_count)
{
    struct row_block_row row = { .node = 0 };
    struct answer answer;
    answer.frames = frames;
    answer.count = answer.packed_count = answer.unpacked_size = 0;
    enum ch_status status = CH_OK;
    if (vaddr >= cache->text[0] && vaddr < cache->text[1])
        status = symbol_cache_find_row(cache, vaddr, &row, false);
    while (status == CH_OK && row.node != 0 && answer.count < SYMBOL_FRAMES_MAX) {
        frames[answer.count] = (struct symbol_frame){ .entry = vaddr, .start = vaddr };
        status = read_node(cache, &row.node, &answer, &row.line, &row.column);
    }
    if (status == CH_OK && answer.packed_count != 0)
        status = unpack_names(cache, &answer);
    if (status == CH_OK)
        *out_count = answer.count;
    return status;
}

bool symbol_cache_find_die(struct symbol_cache *cache, uint64_t vaddr,
                           struct symbol_cache_die *out)
{
    enum { SIZE = SYMBOL_CACHE_DIE_SIZE };
    size_t low = 0;
    size_t high = cache->sections[SYMBOL_CACHE_DIES].size / SIZE;
    bool found = false;
    if (vaddr < cache->text[0] || vaddr >= cache->text[1])
        return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct cursor c =
            checked_bytes(cache, SYMBOL_CACHE_DIES, middle * SIZE, SIZE, false);
        bool before = cursor_u32(&c) <= vaddr - cache->text[0];
        struct symbol_cache_die die;
        die.unit = cursor_u32(&c);
        die.die = cursor_u32(&c);
        if (!cursor_ok(&c))
            return false;
        if (before) {
            *out = die;
            found = true;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}
