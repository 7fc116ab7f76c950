// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/image_cache.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/text.h"
#include "report/file/digest.h"
#include "symbolizer/cache/packed_name.h"
#include "symbolizer/cache/row_block.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/search/guarded_child.h"

// An intern is a growing run of bytes that stores each record once: adding a record
// again gives the offset it has. The sections of a symbol cache are interned, so that a
// name that a thousand units share is written once.

struct intern_slot {
    uint64_t hash;
    uint32_t offset;
    uint32_t size; // 0: the slot is free
};

struct intern {
    struct text bytes; // the records, one after the other
    struct intern_slot *slots;
    size_t slot_count; // a power of two
    size_t count;
};

enum { FIRST_SLOTS = 1024 };

static uint64_t intern_hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    while (size != 0) {
        uint64_t word = 0;
        size_t taken = size < sizeof(word) ? size : sizeof(word);
        memcpy(&word, bytes, taken);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
        bytes += taken;
        size -= taken;
    }
    return hash;
}

// intern_slot_of gives the slot that has the record, or the free one where it belongs.
static struct intern_slot *intern_slot_of(const struct intern *set, uint64_t hash,
                                          const void *record, size_t size)
{
    size_t mask = set->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct intern_slot *slot = &set->slots[i];
        if (slot->size == 0)
            return slot;
        if (slot->hash == hash && slot->size == size &&
            memcmp(set->bytes.bytes + slot->offset, record, size) == 0)
            return slot;
    }
}

// intern_make_room keeps a third of the slots free.
static bool intern_make_room(struct intern *set)
{
    if (set->slot_count != 0 && set->count < set->slot_count / 3 * 2)
        return true;
    size_t wanted = set->slot_count != 0 ? set->slot_count * 2 : FIRST_SLOTS;
    struct intern_slot *slots = calloc(wanted, sizeof(slots[0]));
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < set->slot_count; i++) {
        size_t at = (size_t)set->slots[i].hash & (wanted - 1);
        while (slots[at].size != 0)
            at = (at + 1) & (wanted - 1);
        if (set->slots[i].size != 0)
            slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = wanted;
    return true;
}

// intern_add stores the offset of the record of size bytes, at least one. CH_ERR_LIMIT:
// the offset would exceed 32 bits.
CH_CHECKED static enum ch_status intern_add(struct intern *set, const void *record,
                                            size_t size, uint32_t *out)
{
    if (!intern_make_room(set))
        return CH_ERR_NO_MEMORY;
    uint64_t hash = intern_hash_of(record, size);
    struct intern_slot *slot = intern_slot_of(set, hash, record, size);
    if (slot->size == 0) {
        if (set->bytes.size + size > UINT32_MAX)
            return CH_ERR_LIMIT;
        *slot = (struct intern_slot){ .hash = hash,
                                      .offset = (uint32_t)set->bytes.size,
                                      .size = (uint32_t)size };
        text_append(&set->bytes, record, size);
        if (!text_ok(&set->bytes))
            return CH_ERR_NO_MEMORY;
        set->count++;
    }
    *out = slot->offset;
    return CH_OK;
}

// intern_deinit frees what set holds; a zeroed one is empty.
static void intern_deinit(struct intern *set)
{
    text_deinit(&set->bytes);
    free(set->slots);
    *set = (struct intern){ 0 };
}

struct writer {
    uint64_t text_low;
    struct intern sections[SYMBOL_CACHE_SECTIONS]; // names are strings until the end
    struct row_block_row current;                  // the result written last
    struct row_block_row rows[ROW_BLOCK_SPAN];     // of the block at work
    size_t row_count;
    uint32_t block; // its number
};

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
    uint32_t name = 0;
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

// node_flags gives the flags of frame's node; called says that it has a caller.
static uint32_t node_flags(const struct writer *writer,
                           const struct symbol_frame *frame, bool called)
{
    bool placed = !called && !frame->inlined && frame->function != NULL &&
                  frame->start >= writer->text_low && frame->entry >= writer->text_low;
    return (frame->inlined ? SYMBOL_CACHE_NODE_INLINED : 0u) |
           (frame->of_source ? SYMBOL_CACHE_NODE_OF_SOURCE : 0u) |
           (called ? SYMBOL_CACHE_NODE_PARENT : 0u) |
           (placed ? SYMBOL_CACHE_NODE_START : 0u);
}

// add_node stores the number of frame's node, counted from 1. caller is the enclosing
// frame, whose node is parent; NULL: there is none.
static enum ch_status add_node(struct writer *writer, const struct symbol_frame *frame,
                               const struct symbol_frame *caller, uint32_t parent,
                               uint32_t *out)
{
    uint32_t words[2] = { 0, parent };
    uint64_t place = 0;
    uint32_t function;
    uint32_t file;
    enum ch_status status = cache_add_function(writer, frame, &function);
    if (status == CH_OK)
        status = cache_add_file(writer, frame, &file);
    if (status != CH_OK)
        return status;
    uint32_t flags = node_flags(writer, frame, caller != NULL);
    if (caller != NULL)
        place = (uint64_t)caller->column << SYMBOL_CACHE_LINE_BITS | caller->line;
    if ((flags & SYMBOL_CACHE_NODE_START) != 0) {
        words[1] = (uint32_t)(frame->start - writer->text_low);
        place = (uint32_t)(frame->entry - writer->text_low);
    }
    if (file >> SYMBOL_CACHE_FILE_BITS != 0 ||
        function >> (32 - SYMBOL_CACHE_NODE_SHIFT) != 0 ||
        (caller != NULL && (caller->line >> SYMBOL_CACHE_LINE_BITS != 0 ||
                            caller->column >> SYMBOL_CACHE_COLUMN_BITS != 0)))
        return CH_ERR_LIMIT;
    words[0] = htole32(function << SYMBOL_CACHE_NODE_SHIFT | flags);
    words[1] = htole32(words[1]);
    place = htole64(place << SYMBOL_CACHE_FILE_BITS | file);
    uint8_t node[SYMBOL_CACHE_NODE_SIZE];
    memcpy(node, words, sizeof(words));
    memcpy(node + sizeof(words), &place, sizeof(place));
    status = intern_add(&writer->sections[SYMBOL_CACHE_NODES], node, sizeof(node), out);
    *out = *out / SYMBOL_CACHE_NODE_SIZE + 1;
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

// cache_end_block writes the block at work and begins the next one, where the same
// still holds. Blocks that are alike, as where nothing changes, are stored once.
static enum ch_status cache_end_block(struct writer *writer)
{
    struct text *blocks = &writer->sections[SYMBOL_CACHE_BLOCKS].bytes;
    struct text CH_CLEANUP(text_deinit) block = { 0 };
    uint32_t at;
    enum ch_status status = row_block_write(writer->rows, writer->row_count, &block);
    if (status == CH_OK)
        status = intern_add(&writer->sections[SYMBOL_CACHE_ROWS], block.bytes,
                            block.size, &at);
    if (status != CH_OK)
        return status;
    append_u32(blocks, at);
    writer->rows[0] = writer->current;
    writer->rows[0].at = 0;
    writer->row_count = 1;
    writer->block++;
    return text_ok(blocks) ? CH_OK : CH_ERR_NO_MEMORY;
}

// cache_write_row writes what holds from offset on.
static enum ch_status cache_write_row(struct writer *writer, uint32_t offset,
                                      const struct row_block_row *row)
{
    enum ch_status status = CH_OK;
    while (status == CH_OK && writer->block < offset >> ROW_BLOCK_SHIFT)
        status = cache_end_block(writer);
    uint8_t at = (uint8_t)offset;
    if (at == 0)
        writer->row_count = 0; // nothing of what held before is left
    writer->rows[writer->row_count] = *row;
    writer->rows[writer->row_count++].at = at;
    writer->current = *row;
    return status;
}

// write_cache_answer adds the frames of image at vaddr, unless they equal those of the
// row before.
static enum ch_status write_cache_answer(struct writer *writer,
                                         struct symbol_image *image, uint64_t vaddr)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct row_block_row row = { .node = 0 };
    size_t count = symbol_image_find(image, vaddr, frames);
    if (count != 0) {
        row.line = frames[0].line;
        row.column = frames[0].column;
    }
    enum ch_status status = cache_add_frames(writer, frames, count, &row.node);
    const struct row_block_row *now = &writer->current;
    bool same =
        row.node == now->node && row.line == now->line && row.column == now->column;
    if (status != CH_OK || same)
        return status;
    return cache_write_row(writer, (uint32_t)(vaddr - writer->text_low), &row);
}

// cache_append_name appends the record of a name: packed where that saves a quarter.
static void cache_append_name(const char *name, bool may_pack, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    size_t size = strlen(name);
    if (may_pack && size >= PACKED_NAME_MIN && size <= PACKED_NAME_MAX)
        packed_name_write(name, size, &packed);
    bool pack = packed.size != 0 && text_ok(&packed) && packed.size < size / 4 * 3;
    size_t word =
        size << SYMBOL_CACHE_NAME_SHIFT | (pack ? SYMBOL_CACHE_NAME_PACKED : 0);
    PACK(out, "u", word);
    if (pack)
        text_append(out, packed.bytes, packed.size);
    else
        text_append(out, name, size + 1);
}

// moved_names has the names as they are stored, and where each string of the writer is.
struct moved_names {
    struct intern strings; // their offsets in the writer's section
    struct text offsets;   // and in names, in the same order
    struct text names;
};

// move_names writes the names that entries of a section of that size begin with, each
// once, and makes the entries refer to them.
static enum ch_status move_names(struct writer *writer, struct moved_names *moved,
                                 enum symbol_cache_section section, size_t size)
{
    struct text *entries = &writer->sections[section].bytes;
    const char *strings = writer->sections[SYMBOL_CACHE_NAMES].bytes.bytes;
    bool may_pack = section == SYMBOL_CACHE_FUNCTIONS;
    for (size_t at = 0; at < entries->size; at += size) {
        uint32_t offset;
        uint32_t index;
        size_t known = moved->strings.count;
        memcpy(&offset, entries->bytes + at, sizeof(offset));
        enum ch_status status =
            intern_add(&moved->strings, &offset, sizeof(offset), &index);
        if (status != CH_OK)
            return status;
        if (moved->strings.count != known) {
            append_u32(&moved->offsets, (uint32_t)moved->names.size);
            cache_append_name(strings + le32toh(offset), may_pack, &moved->names);
        }
        if (!text_ok(&moved->offsets) || !text_ok(&moved->names))
            return CH_ERR_NO_MEMORY;
        memcpy(entries->bytes + at, moved->offsets.bytes + index, sizeof(offset));
    }
    return CH_OK;
}

// move_all_names replaces the strings of names by what is stored of them: those of
// files first, which are not packed.
static enum ch_status move_all_names(struct writer *writer)
{
    struct moved_names moved = { .names = { .limit_bytes = SYMBOL_CACHE_FILE_MAX } };
    enum ch_status status =
        move_names(writer, &moved, SYMBOL_CACHE_FILES, sizeof(uint32_t) + MD5_SIZE);
    if (status == CH_OK)
        status = move_names(writer, &moved, SYMBOL_CACHE_FUNCTIONS,
                            SYMBOL_CACHE_FUNCTION_SIZE);
    struct text *names = &writer->sections[SYMBOL_CACHE_NAMES].bytes;
    const struct text strings = *names;
    *names = moved.names;
    moved.names = strings;
    text_deinit(&moved.names);
    text_deinit(&moved.offsets);
    intern_deinit(&moved.strings);
    return status;
}

static void append_checksums(const struct text *data, struct text *out)
{
    for (size_t at = 0; at < data->size; at += SYMBOL_CACHE_PAGE) {
        size_t size = data->size - at;
        size = size < SYMBOL_CACHE_PAGE ? size : SYMBOL_CACHE_PAGE;
        append_u32(out, crc32c(data->bytes + at, size));
    }
}

// padding_after is what is missing after size bytes until the next section.
static size_t padding_after(size_t size)
{
    size_t part = size % SYMBOL_CACHE_ALIGNMENT;
    return part != 0 ? SYMBOL_CACHE_ALIGNMENT - part : 0;
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
        size_t size = writer->sections[i].bytes.size;
        append_u32(out, (uint32_t)head);
        append_u32(out, (uint32_t)size);
        head += size + padding_after(size);
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
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++) {
        const struct text *section = &writer->sections[i].bytes;
        text_append(&data, section->bytes, section->size);
        text_append(&data, nothing, padding_after(section->size));
    }
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

// write_answers writes what holds at each address of code.
static enum ch_status write_answers(struct writer *writer, struct symbol_image *image)
{
    static const uint8_t nothing[ROW_BLOCK_AFTER] = { 0 };
    uint64_t text[2];
    uint32_t end;
    symbol_image_text(image, text);
    struct address_list CH_CLEANUP(address_list_deinit) edges = { 0 };
    enum ch_status status = symbol_image_edges(image, &edges);
    if (status == CH_OK && edges.count == 0)
        return CH_ERR_UNSUPPORTED;
    for (size_t i = 0; status == CH_OK && i < edges.count; i++)
        if (edges.items[i] >= text[0] && edges.items[i] < text[1])
            status = write_cache_answer(writer, image, edges.items[i]);
    while (status == CH_OK &&
           (uint64_t)writer->block << ROW_BLOCK_SHIFT < text[1] - text[0])
        status = cache_end_block(writer);
    return status == CH_OK ? intern_add(&writer->sections[SYMBOL_CACHE_ROWS], nothing,
                                        sizeof(nothing), &end)
                           : status;
}

// write_dies writes where .debug_info has each function. One that is beyond 4 GB there
// is looked for without.
static enum ch_status write_dies(struct writer *writer,
                                 const struct symbol_image *image)
{
    struct text *to = &writer->sections[SYMBOL_CACHE_DIES].bytes;
    uint64_t text[2];
    struct unit_dies CH_CLEANUP(unit_dies_deinit) dies = { 0 };
    symbol_image_text(image, text);
    enum ch_status status = symbol_image_dies(image, &dies);
    for (size_t i = 0; status == CH_OK && i < dies.count; i++) {
        const struct unit_die *die = &dies.items[i];
        if (die->start < text[0] || die->start >= text[1] || die->die > UINT32_MAX)
            continue;
        append_u32(to, (uint32_t)(die->start - text[0]));
        append_u32(to, (uint32_t)die->unit);
        append_u32(to, (uint32_t)die->die);
    }
    return status == CH_OK && !text_ok(to) ? CH_ERR_NO_MEMORY : status;
}

enum ch_status symbol_cache_write(struct symbol_image *image, const struct build_id *id,
                                  struct text *out)
{
    uint64_t text[2];
    symbol_image_text(image, text);
    if (id->size == 0 || text[0] >= text[1] || text[1] - text[0] > UINT32_MAX)
        return CH_ERR_UNSUPPORTED;
    struct writer writer = { .text_low = text[0], .row_count = 1 };
    enum ch_status status = write_answers(&writer, image);
    if (status == CH_OK)
        status = write_dies(&writer, image);
    if (status == CH_OK)
        status = move_all_names(&writer);
    if (status == CH_OK)
        status = cache_append_file(&writer, image, id, out);
    for (size_t i = 0; i < SYMBOL_CACHE_SECTIONS; i++)
        intern_deinit(&writer.sections[i]);
    return status;
}

// WRITING_SECONDS is the processor time of one run. A run that does not finish leaves
// its claim behind, so that no process tries that build again for a day.
enum { WRITING_SECONDS = 60, LEAST_URGENT = 19 };

enum ch_status image_cache_write_names(const char *path, const struct build_id *id,
                                       const struct debug_search *search)
{
    struct debug_search files = *search;
    struct symbol_image *image;
    struct text CH_CLEANUP(text_deinit) cache = { 0 };
    files.anew = true;
    if (!symbol_cache_folder_claim(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES))
        return CH_ERR_NOT_FOUND;
    enum ch_status status = symbol_image_open(&image, path, id, &files, false);
    if (status != CH_OK)
        return status;
    status = symbol_cache_write(image, id, &cache);
    symbol_image_close(image);
    if (status == CH_ERR_UNSUPPORTED) // fast to find out again, and may change
        symbol_cache_folder_release(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES);
    if (status != CH_OK)
        return status;
    return symbol_cache_folder_put(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES,
                                   cache.bytes, cache.size, SYMBOL_CACHE_FOLDER_BYTES);
}

void image_cache_write_plain(const char *path, const struct build_id *id,
                             const struct debug_search *search)
{
    struct debug_files files;
    struct symbol_cache_file file;
    struct debug_search where = *search;
    const char *folder = search->cache_folder;
    if (!symbol_cache_folder_claim(folder, id, SYMBOL_CACHE_OF_DEBUG))
        return;
    where.cache_folder = NULL; // it is ours to write
    debug_files_open(&files, path, id, &where);
    const struct debug_elf *from = debug_files_dwarf(&files);
    if (from == NULL || decompressed_debug_size(from) == 0)
        symbol_cache_folder_release(folder, id, SYMBOL_CACHE_OF_DEBUG);
    else if (symbol_cache_folder_begin(&file, folder, id, SYMBOL_CACHE_OF_DEBUG) ==
             CH_OK)
        (void)!symbol_cache_folder_end(
            &file, decompressed_debug_write(from, file.fd, SYMBOL_CACHE_FOLDER_BYTES),
            SYMBOL_CACHE_FOLDER_BYTES);
    debug_files_close(&files);
}

bool image_cache_build(const char *path, struct build_id *out)
{
    struct debug_elf file;
    if (debug_elf_open(&file, path) != CH_OK)
        return false;
    *out = debug_elf_build_id(&file);
    debug_elf_close(&file);
    return out->size != 0;
}

static void close_everything(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    (void)syscall(SYS_close_range, 3, ~0u, 0); // locks of reports are among them
}

bool image_cache_leave(void)
{
    pid_t child = fork();
    if (child > 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        return false;
    }
    if (child < 0)
        return false;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    close_everything();
    guarded_child_enter(WRITING_SECONDS);
    (void)!nice(LEAST_URGENT);
    return true;
}

void image_cache_begin(const char *path, const struct build_id *id,
                       const struct debug_search *search)
{
    if (search->cache_folder == NULL || id->size == 0 || !image_cache_leave())
        return;
    _exit((int)image_cache_write_names(path, id, search));
}
