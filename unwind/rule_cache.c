// SPDX-License-Identifier: Apache-2.0
//
// How it works: rule_cache_find looks a pc up in the hash table; where it is not there,
// ask_source finds its row and the result is stored, also if there is none.
//
// Sources, in this file from top to bottom:
// - image_bytes: copies a section of the target into our memory, up to a limit.
// - image_cfi: DWARF of an image. With an .eh_frame_hdr, its table is searched in the
//   target's memory and only single entries are fetched; otherwise the section is
//   copied and sorted once (cfi_index.h). .debug_frame is read where .eh_frame covers
//   nothing.
// - image_sframe: SFrame of an image, copied as a whole when it is first needed.
// - compiled_cfi: DWARF of code that is in no image, from the runtime that compiled it.
//
// Invariants: a row that *out points to is valid until the next call of
// rule_cache_find. A row with expressions is never cached, because its bytes are in a
// buffer that the next lookup reuses (may_keep). An entry counts only if its epoch is
// the cache's, so the table is emptied by a new epoch. A section that cannot be read is
// tried once per image.
#include "unwind/rule_cache.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_reader.h"
#include "formats/debug/cfi.h"
#include "formats/debug/sframe.h"
#include "formats/debug/unwind_row.h"
#include "unwind/cfi_index.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

// The DWARF call frame information of a target's images.
//
// Where there is a .eh_frame_hdr, its table is searched in the target's memory and only
// the entries found are fetched, so that the cost does not depend on the image's size.
// Otherwise the section is copied and its entries are sorted, once. .debug_frame is
// used for code that nothing else covers.

struct image_cfi;

// Local copies of a target's bytes, for parsers, which never see a memory_reader.
//
// An unwinder copies each image's unwind section once. The caller's limit bounds what
// an image can make us allocate.

// image_bytes_grow makes room for more bytes after the first size ones.
static uint8_t *image_bytes_grow(uint8_t *bytes, size_t size, size_t *capacity,
                                 size_t limit)
{
    enum { FIRST_BYTES = 64 << 10 };
    if (size < *capacity)
        return bytes;
    size_t larger = *capacity != 0 ? *capacity * 2 : FIRST_BYTES;
    if (larger > limit)
        larger = limit;
    uint8_t *moved = realloc(bytes, larger);
    if (moved == NULL) {
        free(bytes);
        return NULL;
    }
    *capacity = larger;
    return moved;
}

// image_bytes_copy copies the bytes from address up to the first hole, at most limit,
// into a new allocation. CH_ERR_FAULT: not one byte could be read.
CH_CHECKED static enum ch_status image_bytes_copy(const struct memory_reader *memory,
                                                  uint64_t address, uint64_t limit,
                                                  uint8_t **out, size_t *out_size)
{
    uint8_t *bytes = NULL;
    size_t capacity = 0;
    size_t size = 0;
    if (limit > SIZE_MAX / 2)
        limit = SIZE_MAX / 2;

    while (size < limit) {
        bytes = image_bytes_grow(bytes, size, &capacity, (size_t)limit);
        if (bytes == NULL)
            return CH_ERR_NO_MEMORY;
        size_t wanted = capacity - size;
        size_t count =
            memory->read(memory->source, address + size, bytes + size, wanted);
        if (count == 0 || count > wanted)
            break;
        size += count;
    }
    if (size == 0) {
        free(bytes);
        return CH_ERR_FAULT;
    }
    *out = bytes;
    *out_size = size;
    return CH_OK;
}

enum {
    // Of a section that is copied whole. Most have some hundred kilobytes; those of
    // browsers may reach ten megabytes.
    SECTION_LIMIT_BYTES = 64 << 20,
    ENTRY_LIMIT_BYTES = 256 << 10, // the longest entries seen have a few kilobytes
    ENTRY_USUAL_BYTES = 512,
};

// table holds the means of finding the rules of one image.
struct table {
    bool read;
    bool read_debug_frame;
    struct cfi_header header; // count 0: there is no usable table
    struct cfi_index eh_frame;
    uint8_t *eh_frame_bytes;
    struct cfi_index debug_frame;
};

// entry_bytes is the buffer of one entry.
struct entry_bytes {
    uint8_t *bytes;
    size_t capacity;
};

struct image_cfi {
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    unwind_debug_frame_fn *find_debug_frame; // NULL: only what the images came with
    void *find_context;
    struct cfi_processor processor;
    struct table *tables;
    struct entry_bytes fde_bytes;
    struct entry_bytes cie_bytes;
    bool have_cie; // cie is the CIE at cie_address
    uint64_t cie_address;
    struct cfi_cie cie;
};

struct cfi_processor rule_cache_processor(const struct unwind_arch *arch)
{
    return (struct cfi_processor){ .register_count = arch->dwarf_count,
                                   .fp = arch->fp,
                                   .signs_returns = arch->id == UNWIND_ARCH_AARCH64 };
}

// image_cfi_create prepares tables for count images; the images must outlive it.
CH_CHECKED static enum ch_status image_cfi_create(const struct unwind_arch *arch,
                                                  const struct memory_reader *memory,
                                                  const struct unwind_image *images,
                                                  size_t count, struct image_cfi **out)
{
    struct image_cfi *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = (struct image_cfi){
        .memory = memory,
        .images = images,
        .count = count,
        .processor = rule_cache_processor(arch),
    };
    made->tables = calloc(count + 1, sizeof(*made->tables));
    if (made->tables == NULL) {
        free(made);
        return CH_ERR_NO_MEMORY;
    }
    *out = made;
    return CH_OK;
}

static void image_cfi_destroy(struct image_cfi *cfi)
{
    if (cfi == NULL)
        return;
    for (size_t i = 0; i < cfi->count; i++) {
        cfi_index_deinit(&cfi->tables[i].eh_frame);
        cfi_index_deinit(&cfi->tables[i].debug_frame);
        free(cfi->tables[i].eh_frame_bytes);
    }
    free(cfi->tables);
    free(cfi->fde_bytes.bytes);
    free(cfi->cie_bytes.bytes);
    free(cfi);
}

// image_cfi_set_debug_frames sets the function that is called for an image's
// .debug_frame when the image's other rules do not cover a pc.
static void image_cfi_set_debug_frames(struct image_cfi *cfi,
                                       unwind_debug_frame_fn *find, void *context)
{
    cfi->find_debug_frame = find;
    cfi->find_context = context;
}

static struct cfi_section eh_frame_section(const struct image_cfi *cfi,
                                           const struct unwind_image *image,
                                           uint64_t address)
{
    return (struct cfi_section){ .kind = CFI_EH_FRAME,
                                 .big_endian = cfi->memory->big_endian,
                                 .narrow = cfi->memory->narrow,
                                 .address = address,
                                 .text = image->start,
                                 .data = image->eh_frame_hdr };
}

static void image_cfi_read_header(const struct image_cfi *cfi,
                                  const struct unwind_image *image,
                                  struct cfi_header *out)
{
    uint8_t bytes[CFI_HEADER_MAX];
    uint64_t size = image->eh_frame_hdr_size;
    if (size > sizeof(bytes))
        size = sizeof(bytes);
    if (size == 0 ||
        memory_read(cfi->memory, image->eh_frame_hdr, bytes, (size_t)size) != CH_OK)
        return;
    struct cursor head = cursor_over(bytes, (size_t)size);
    head.big_endian = cfi->memory->big_endian;
    if (cfi_read_header(head, image->eh_frame_hdr, image->eh_frame_hdr_size, out) !=
        CH_OK)
        *out = (struct cfi_header){ 0 };
}

// index_eh_frame copies a section that has no search table. Where its size is not
// known, the copy may extend to the image's end: the section's own terminator ends it.
static void index_eh_frame(const struct image_cfi *cfi,
                           const struct unwind_image *image, struct table *table)
{
    uint64_t address = image->eh_frame;
    uint64_t limit = image->eh_frame_size;
    size_t size;
    if (address == 0) {
        address = table->header.eh_frame;
        limit =
            address >= image->start && address < image->end ? image->end - address : 0;
    }
    if (limit > SECTION_LIMIT_BYTES)
        limit = SECTION_LIMIT_BYTES;
    if (address == 0 || limit == 0 ||
        image_bytes_copy(cfi->memory, address, limit, &table->eh_frame_bytes, &size) !=
            CH_OK)
        return;
    struct cfi_section section = eh_frame_section(cfi, image, address);
    if (cfi_index_init(&table->eh_frame, &section, table->eh_frame_bytes, size) !=
        CH_OK)
        table->eh_frame = (struct cfi_index){ 0 };
}

// fetch_search_table fetches what searches of a large table begin with.
static void fetch_search_table(const struct image_cfi *cfi,
                               const struct cfi_header *header)
{
    enum { LARGE = 128 << 10, STEPS = 32 };
    uint64_t addresses[STEPS - 1];
    if (header->count < LARGE / header->entry_size)
        return;
    for (uint64_t i = 1; i < STEPS; i++)
        addresses[i - 1] =
            header->table + header->count / STEPS * i * header->entry_size;
    memory_fetch(cfi->memory, addresses, STEPS - 1);
}

static void read_table(const struct image_cfi *cfi, size_t index)
{
    const struct unwind_image *image = &cfi->images[index];
    struct table *table = &cfi->tables[index];
    table->read = true;
    image_cfi_read_header(cfi, image, &table->header);
    if (table->header.count == 0)
        index_eh_frame(cfi, image, table);
    else
        fetch_search_table(cfi, &table->header);
}

static void read_debug_frame(const struct image_cfi *cfi, size_t index)
{
    const struct unwind_image *image = &cfi->images[index];
    struct table *table = &cfi->tables[index];
    table->read_debug_frame = true;
    if (cfi->find_debug_frame != NULL)
        cfi->find_debug_frame(cfi->find_context, index);
    if (image->debug_frame_size == 0)
        return;
    const struct cfi_section section = { .kind = CFI_DEBUG_FRAME,
                                         .big_endian = cfi->memory->big_endian,
                                         .narrow = cfi->memory->narrow,
                                         .bias = image->bias };
    if (cfi_index_init(&table->debug_frame, &section, image->debug_frame,
                       image->debug_frame_size) != CH_OK)
        table->debug_frame = (struct cfi_index){ 0 };
}

static bool image_cfi_reserve(struct entry_bytes *entry, size_t size)
{
    if (size <= entry->capacity)
        return true;
    size_t capacity = size > ENTRY_USUAL_BYTES ? size : ENTRY_USUAL_BYTES;
    void *bytes = realloc(entry->bytes, capacity);
    if (bytes == NULL)
        return false;
    entry->bytes = bytes;
    entry->capacity = capacity;
    return true;
}

// fetch_entry reads the entry at address into entry_bytes, where it stays until the
// next call.
static enum ch_status fetch_entry(const struct image_cfi *cfi,
                                  const struct cfi_section *section, uint64_t address,
                                  struct entry_bytes *entry_bytes,
                                  struct cfi_entry *out)
{
    enum { SHORT_HEAD = 4 };
    uint8_t head[CFI_ENTRY_HEAD];
    size_t head_size = sizeof(head);
    uint64_t size;
    if (memory_read(cfi->memory, address, head, head_size) != CH_OK) {
        head_size = SHORT_HEAD;
        if (memory_read(cfi->memory, address, head, head_size) != CH_OK)
            return CH_ERR_FAULT;
    }
    struct cursor c = cursor_over(head, head_size);
    c.big_endian = section->big_endian;
    enum ch_status status = cfi_entry_size(c, &size);
    if (status != CH_OK)
        return status == CH_END ? CH_ERR_MALFORMED : status;
    if (size > ENTRY_LIMIT_BYTES)
        return CH_ERR_LIMIT;
    if (!image_cfi_reserve(entry_bytes, (size_t)size))
        return CH_ERR_NO_MEMORY;
    if (memory_read(cfi->memory, address, entry_bytes->bytes, (size_t)size) != CH_OK)
        return CH_ERR_FAULT;
    c = cursor_over(entry_bytes->bytes, (size_t)size);
    c.big_endian = section->big_endian;
    return cfi_next_entry(section, &c, address, out);
}

// fetch_cie reads the CIE at address, unless it is the one that was read last.
static enum ch_status fetch_cie(struct image_cfi *cfi,
                                const struct cfi_section *section, uint64_t address)
{
    struct cfi_entry entry;
    if (cfi->have_cie && cfi->cie_address == address)
        return CH_OK;
    cfi->have_cie = false;
    enum ch_status status = fetch_entry(cfi, section, address, &cfi->cie_bytes, &entry);
    if (status == CH_OK)
        status = cfi_read_cie(section, &entry, &cfi->cie);
    if (status != CH_OK)
        return status;
    cfi->have_cie = true;
    cfi->cie_address = address;
    return CH_OK;
}

static enum ch_status header_entry(const struct image_cfi *cfi,
                                   const struct cfi_header *header, uint64_t index,
                                   struct cfi_header_entry *out)
{
    uint8_t bytes[16];
    uint64_t address = header->table + index * header->entry_size;
    enum ch_status status =
        memory_read(cfi->memory, address, bytes, header->entry_size);
    if (status != CH_OK)
        return status;
    struct cursor c = cursor_over(bytes, header->entry_size);
    c.big_endian = cfi->memory->big_endian;
    return cfi_read_header_entry(header, c, address, out);
}

// search_header finds the last FDE that starts at or before pc.
static enum ch_status search_header(const struct image_cfi *cfi,
                                    const struct cfi_header *header, uint64_t pc,
                                    uint64_t *out)
{
    struct cfi_header_entry entry;
    uint64_t low = 0;
    uint64_t high = header->count;
    uint64_t fde = 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        enum ch_status status = header_entry(cfi, header, middle, &entry);
        if (status != CH_OK)
            return status;
        if (entry.start <= pc) {
            fde = entry.fde;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0)
        return CH_ERR_NOT_FOUND;
    *out = fde;
    return CH_OK;
}

static enum ch_status find_by_header(struct image_cfi *cfi, size_t index, uint64_t pc,
                                     struct unwind_row *out)
{
    const struct cfi_header *header = &cfi->tables[index].header;
    struct cfi_section section =
        eh_frame_section(cfi, &cfi->images[index], header->eh_frame);
    struct cfi_entry entry;
    struct cfi_fde fde;
    uint64_t address;

    enum ch_status status = search_header(cfi, header, pc, &address);
    if (status == CH_OK)
        status = fetch_entry(cfi, &section, address, &cfi->fde_bytes, &entry);
    if (status == CH_OK)
        status = fetch_cie(cfi, &section, entry.cie);
    if (status == CH_OK)
        status = cfi_read_fde(&section, &entry, &cfi->cie, &fde);
    if (status == CH_OK)
        status = cfi_find_row(&section, &cfi->processor, &cfi->cie, &fde, pc, out);
    return status;
}

// image_cfi_find gives the rules at pc, which is in images[index]. Expressions in them
// stay valid until the next call. CH_ERR_NOT_FOUND: nothing covers pc.
CH_CHECKED static enum ch_status image_cfi_find(struct image_cfi *cfi, size_t index,
                                                uint64_t pc, struct unwind_row *out)
{
    struct table *table = &cfi->tables[index];
    if (!table->read)
        read_table(cfi, index);

    enum ch_status status = CH_ERR_NOT_FOUND;
    if (table->header.count != 0)
        status = find_by_header(cfi, index, pc, out);
    if (status != CH_OK && table->eh_frame.count != 0)
        status = cfi_index_find(&table->eh_frame, &cfi->processor, pc, out);
    if (status != CH_OK && !table->read_debug_frame)
        read_debug_frame(cfi, index);
    if (status != CH_OK && table->debug_frame.count != 0)
        status = cfi_index_find(&table->debug_frame, &cfi->processor, pc, out);
    return status;
}

// The SFrame sections of a target's images, fetched when they are first needed.
//
// A section that is missing, damaged or of an unknown version is remembered as such, so
// that each image is tried once, however many frames it has.

struct image_sframe;

enum section_state { SECTION_UNREAD, SECTION_READ, SECTION_UNUSABLE };

struct section {
    enum section_state state;
    uint8_t *bytes;
    struct sframe_section sframe;
};

struct image_sframe {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    bool any;
    struct section *sections;
};

// image_sframe_create prepares for the sections of count images; the images must
// outlive it.
CH_CHECKED static enum ch_status image_sframe_create(const struct unwind_arch *arch,
                                                     const struct memory_reader *memory,
                                                     const struct unwind_image *images,
                                                     size_t count,
                                                     struct image_sframe **out)
{
    struct image_sframe *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = (struct image_sframe){
        .arch = arch, .memory = memory, .images = images, .count = count
    };
    for (size_t i = 0; i < count; i++)
        made->any = made->any || images[i].sframe_size != 0;
    made->sections = made->any ? calloc(count, sizeof(*made->sections)) : NULL;
    if (made->any && made->sections == NULL) {
        free(made);
        return CH_ERR_NO_MEMORY;
    }
    *out = made;
    return CH_OK;
}

static void image_sframe_destroy(struct image_sframe *sections)
{
    if (sections == NULL)
        return;
    for (size_t i = 0; sections->sections != NULL && i < sections->count; i++)
        free(sections->sections[i].bytes);
    free(sections->sections);
    free(sections);
}

// image_sframe_any returns true if any image has an SFrame section.
static bool image_sframe_any(const struct image_sframe *sections)
{
    return sections->any;
}

static bool sframe_is_for(const struct sframe_section *section,
                          const struct unwind_arch *arch)
{
    switch (section->arch) {
    case SFRAME_AMD64:
        return arch->id == UNWIND_ARCH_AMD64;
    case SFRAME_AARCH64_BIG:
    case SFRAME_AARCH64_LITTLE:
        return arch->id == UNWIND_ARCH_AARCH64;
    default:
        return arch->id == UNWIND_ARCH_S390X;
    }
}

static void image_sframe_read_section(struct image_sframe *s, size_t index)
{
    const struct unwind_image *image = &s->images[index];
    struct section *section = &s->sections[index];
    uint64_t limit = image->sframe_size;
    size_t size;
    if (limit > SECTION_LIMIT_BYTES)
        limit = SECTION_LIMIT_BYTES;

    section->state = SECTION_UNUSABLE;
    if (limit == 0 || image_bytes_copy(s->memory, image->sframe, limit, &section->bytes,
                                       &size) != CH_OK)
        return;
    if (sframe_section_init(&section->sframe, section->bytes, size, image->sframe) ==
            CH_OK &&
        sframe_section_usable(&section->sframe) &&
        sframe_is_for(&section->sframe, s->arch) &&
        section->sframe.bytes.big_endian == s->memory->big_endian)
        section->state = SECTION_READ;
}

// image_sframe_find gives the rules at pc, which is in images[index]. CH_ERR_NOT_FOUND:
// nothing covers it. CH_ERR_UNSUPPORTED: the image has no section, or one that cannot
// be used.
CH_CHECKED static enum ch_status image_sframe_find(struct image_sframe *s, size_t index,
                                                   uint64_t pc, struct unwind_row *out)
{
    const struct unwind_image *image = &s->images[index];
    if (!s->any)
        return CH_ERR_UNSUPPORTED;
    struct section *section = &s->sections[index];
    if (section->state == SECTION_UNREAD)
        image_sframe_read_section(s, index);
    if (section->state != SECTION_READ)
        return CH_ERR_UNSUPPORTED;
    if (sframe_lookup(&section->sframe, pc, out) != CH_OK)
        return CH_ERR_NOT_FOUND;
    // Before version 3 nothing in SFrame marked the code that the kernel starts.
    if (image->entry != 0 && image->entry >= out->start && image->entry < out->end)
        out->flags |= UNWIND_OUTERMOST;
    return CH_OK;
}

void compiled_cfi_init(struct compiled_cfi *cfi, const struct unwind_arch *arch,
                       const struct memory_reader *memory)
{
    *cfi = (struct compiled_cfi){ .processor = rule_cache_processor(arch),
                                  .big_endian = memory->big_endian,
                                  .narrow = memory->narrow };
}

void compiled_cfi_deinit(struct compiled_cfi *cfi)
{
    for (size_t i = 0; i < cfi->count; i++)
        cfi_index_deinit(&cfi->indexes[i]);
    free(cfi->indexes);
    *cfi = (struct compiled_cfi){ 0 };
}

void compiled_cfi_set_sections(struct compiled_cfi *cfi, unwind_sections_fn *find,
                               void *context)
{
    cfi->find = find;
    cfi->context = context;
}

static void index_compiled(struct compiled_cfi *cfi, const struct unwind_section *from,
                           size_t *entries)
{
    const struct cfi_section section = {
        .kind = from->debug_frame ? CFI_DEBUG_FRAME : CFI_EH_FRAME,
        .big_endian = cfi->big_endian,
        .narrow = cfi->narrow,
        .address = from->debug_frame ? 0 : from->address,
        .text = from->text,
    };
    struct cfi_index *index = &cfi->indexes[cfi->count];
    if (*entries >= COMPILED_CFI_ENTRIES ||
        cfi_index_init(index, &section, from->bytes, from->size) != CH_OK)
        return;
    *entries += index->count;
    if (index->count != 0)
        cfi->count++;
    else
        cfi_index_deinit(index);
}

// ask_for_sections indexes all sections.
static void ask_for_sections(struct compiled_cfi *cfi)
{
    const struct unwind_section *sections;
    size_t entries = 0;
    size_t count = cfi->find(cfi->context, &sections);
    cfi->find = NULL;
    cfi->indexes = calloc(count + 1, sizeof(*cfi->indexes));
    for (size_t i = 0; cfi->indexes != NULL && i < count; i++)
        index_compiled(cfi, &sections[i], &entries);
}

enum ch_status compiled_cfi_find(struct compiled_cfi *cfi, uint64_t pc,
                                 struct unwind_row *out)
{
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (cfi->find != NULL)
        ask_for_sections(cfi);
    for (size_t i = 0; status == CH_ERR_NOT_FOUND && i < cfi->count; i++)
        status = cfi_index_find(&cfi->indexes[i], &cfi->processor, pc, out);
    return status;
}

enum {
    FIRST_PLACES = 128, // a power of two; most walks meet fewer addresses
    GROWTH = 4,
    PLACES = FIRST_PLACES * GROWTH * GROWTH * GROWTH,
    POOL_BYTES = 1 << 20,
    NO_ROW = UINT32_MAX,
};

struct place {
    uint64_t pc;
    uint32_t row;   // offset in the pool; NO_ROW: the source has no rule
    uint16_t epoch; // of the cache when this was written; any other one: empty
    uint8_t source; // enum rule_source
    uint8_t status; // enum ch_status, where there is no rule
};

struct rule_cache {
    const struct unwind_image *images;
    size_t count;
    struct image_sframe *sframe;
    struct image_cfi *cfi;
    struct compiled_cfi compiled;
    uint16_t epoch; // never 0
    size_t used;
    size_t pool_used;
    struct place *places; // at most half of them are used
    size_t place_count;
    uint8_t *pool;         // rows, each truncated after its last rule
    struct unwind_row row; // the last one found, or one that cannot be cached
};

enum ch_status rule_cache_create(const struct unwind_arch *arch,
                                 const struct memory_reader *memory,
                                 const struct unwind_image *images, size_t count,
                                 struct rule_cache **out)
{
    struct rule_cache *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    made->images = images;
    made->count = count;
    made->epoch = 1;
    made->place_count = FIRST_PLACES;
    made->places = calloc(FIRST_PLACES, sizeof(*made->places));
    made->pool = malloc(POOL_BYTES);
    enum ch_status status =
        made->places != NULL && made->pool != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = image_sframe_create(arch, memory, images, count, &made->sframe);
    compiled_cfi_init(&made->compiled, arch, memory);
    if (status == CH_OK)
        status = image_cfi_create(arch, memory, images, count, &made->cfi);
    if (status != CH_OK) {
        rule_cache_destroy(made);
        return status;
    }
    *out = made;
    return CH_OK;
}

void rule_cache_destroy(struct rule_cache *cache)
{
    if (cache == NULL)
        return;
    image_sframe_destroy(cache->sframe);
    image_cfi_destroy(cache->cfi);
    compiled_cfi_deinit(&cache->compiled);
    free(cache->places);
    free(cache->pool);
    free(cache);
}

void rule_cache_set_debug_frames(struct rule_cache *cache, unwind_debug_frame_fn *find,
                                 void *context)
{
    image_cfi_set_debug_frames(cache->cfi, find, context);
}

void rule_cache_set_sections(struct rule_cache *cache, unwind_sections_fn *find,
                             void *context)
{
    compiled_cfi_set_sections(&cache->compiled, find, context);
}

// rule_cache_find_place gives the entry of pc, or the empty one where it belongs.
static struct place *rule_cache_find_place(const struct rule_cache *cache,
                                           enum rule_source source, uint64_t pc)
{
    uint64_t mixed = (pc * 2 + source) * UINT64_C(0x9e3779b97f4a7c15);
    size_t index = (size_t)(mixed >> 32);
    for (;; index++) {
        struct place *place = &cache->places[index & (cache->place_count - 1)];
        if (place->epoch != cache->epoch ||
            (place->pc == pc && place->source == source))
            return place;
    }
}

static void empty_rule_cache(struct rule_cache *cache)
{
    cache->used = 0;
    cache->pool_used = 0;
    // A new epoch makes every place empty at once. When the number wraps, places of an
    // old epoch would become valid again.
    cache->epoch++;
    if (cache->epoch != 0)
        return;
    memset(cache->places, 0, cache->place_count * sizeof(*cache->places));
    cache->epoch = 1;
}

// rule_cache_grow makes room for more places. False: there are as many as may be.
static bool rule_cache_grow(struct rule_cache *cache)
{
    struct place *before = cache->places;
    size_t count = cache->place_count;
    struct place *larger =
        count < PLACES ? calloc(count * GROWTH, sizeof(*larger)) : NULL;
    if (larger == NULL)
        return false;
    cache->places = larger;
    cache->place_count = count * GROWTH;
    for (size_t i = 0; i < count; i++)
        if (before[i].epoch == cache->epoch)
            *rule_cache_find_place(cache, (enum rule_source)before[i].source,
                                   before[i].pc) = before[i];
    free(before);
    return true;
}

// ask_source looks the row up in the image's sections, or in those of code that is in
// no image.
static enum ch_status ask_source(struct rule_cache *cache, enum rule_source source,
                                 uint64_t pc)
{
    const struct unwind_image *image = image_search(cache->images, cache->count, pc);
    if (image == NULL)
        return source == RULE_CFI ? compiled_cfi_find(&cache->compiled, pc, &cache->row)
                                  : CH_ERR_NOT_FOUND;
    size_t index = (size_t)(image - cache->images);
    if (source == RULE_SFRAME)
        return image_sframe_find(cache->sframe, index, pc, &cache->row);
    return image_cfi_find(cache->cfi, index, pc, &cache->row);
}

static bool is_expression(const struct unwind_rule *rule)
{
    return rule->kind == UNWIND_EXPRESSION || rule->kind == UNWIND_AT_EXPRESSION;
}

// may_keep returns true if a row can be cached: one with expressions cannot, because
// their bytes are invalid after the next lookup.
static bool may_keep(const struct unwind_row *row)
{
    bool keep = !is_expression(&row->cfa) && !is_expression(&row->ra) &&
                !is_expression(&row->fp);
    for (uint32_t i = 0; i < row->other_count; i++)
        keep = keep && !is_expression(&row->others[i].rule);
    return keep;
}

// keep_row copies the row to the pool and gives its offset there.
static uint32_t keep_row(struct rule_cache *cache)
{
    const struct unwind_row *row = &cache->row;
    size_t size =
        offsetof(struct unwind_row, others) + row->other_count * sizeof(row->others[0]);
    uint32_t offset = (uint32_t)cache->pool_used;
    memcpy(cache->pool + offset, row, size);
    cache->pool_used += size;
    return offset;
}

bool rule_cache_has_sframe(const struct rule_cache *cache)
{
    return image_sframe_any(cache->sframe);
}

enum ch_status rule_cache_find(struct rule_cache *cache, enum rule_source source,
                               uint64_t pc, const struct unwind_row **out)
{
    if (source == RULE_SFRAME && !image_sframe_any(cache->sframe))
        return CH_ERR_UNSUPPORTED;

    const struct place *found = rule_cache_find_place(cache, source, pc);
    if (found->epoch == cache->epoch && found->row == NO_ROW)
        return (enum ch_status)found->status;
    if (found->epoch == cache->epoch) {
        *out = (const struct unwind_row *)(const void *)(cache->pool + found->row);
        return CH_OK;
    }

    enum ch_status status = ask_source(cache, source, pc);
    if (status == CH_OK)
        *out = &cache->row;
    if (status == CH_OK && !may_keep(&cache->row))
        return CH_OK;
    if ((cache->used == cache->place_count / 2 && !rule_cache_grow(cache)) ||
        POOL_BYTES - cache->pool_used < sizeof(struct unwind_row))
        empty_rule_cache(cache);
    struct place *place = rule_cache_find_place(cache, source, pc);
    *place = (struct place){ .pc = pc,
                             .row = status == CH_OK ? keep_row(cache) : NO_ROW,
                             .epoch = cache->epoch,
                             .source = (uint8_t)source,
                             .status = (uint8_t)status };
    cache->used++;
    return status;
}
