// SPDX-License-Identifier: Apache-2.0
#include "unwind/image_cfi.h"

#include <stdlib.h>

#include "unwind/cfi_index.h"

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

enum ch_status image_bytes_copy(const struct memory_reader *memory, uint64_t address,
                                uint64_t limit, uint8_t **out, size_t *out_size)
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
    SECTION_LIMIT_BYTES = 64 << 20, // of a section that is copied whole
    ENTRY_LIMIT_BYTES = 256 << 10,  // the longest entries seen have a few kilobytes
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

struct cfi_processor image_cfi_processor(const struct unwind_arch *arch)
{
    return (struct cfi_processor){ .register_count = arch->dwarf_count,
                                   .fp = arch->fp,
                                   .signs_returns = arch->id == UNWIND_ARCH_AARCH64 };
}

enum ch_status image_cfi_create(const struct unwind_arch *arch,
                                const struct memory_reader *memory,
                                const struct unwind_image *images, size_t count,
                                struct image_cfi **out)
{
    struct image_cfi *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = (struct image_cfi){
        .memory = memory,
        .images = images,
        .count = count,
        .processor = image_cfi_processor(arch),
    };
    made->tables = calloc(count + 1, sizeof(*made->tables));
    if (made->tables == NULL) {
        free(made);
        return CH_ERR_NO_MEMORY;
    }
    *out = made;
    return CH_OK;
}

void image_cfi_destroy(struct image_cfi *cfi)
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

void image_cfi_set_debug_frames(struct image_cfi *cfi, unwind_debug_frame_fn *find,
                                void *context)
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

enum ch_status image_cfi_find(struct image_cfi *cfi, size_t index, uint64_t pc,
                              struct unwind_row *out)
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
