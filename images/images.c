// SPDX-License-Identifier: Apache-2.0
#include "images/images.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "base/sorted.h"
#include "formats/debug/elf.h"
#include "formats/debug/maps.h"
#include "images/read_file.h"
#include "shared/place_note.h"

enum { NOTES_MAX = 64 };

static bool note_is_ours(const struct elf_note *note)
{
    return note->name != NULL && note->name_size == sizeof(PLACE_NOTE_NAME) &&
           memcmp(note->name, PLACE_NOTE_NAME, sizeof(PLACE_NOTE_NAME)) == 0 &&
           note->type < PLACE_KINDS && note->description != NULL &&
           note->description_size == sizeof(struct place_note);
}

// read_noted_place decodes a description that begins at address in the target.
static struct image_place read_noted_place(struct cursor description, uint64_t address)
{
    struct image_place place = { .version = cursor_u32(&description),
                                 .size = cursor_u32(&description) };
    uint64_t distance = cursor_u64(&description);
    place.address = address + offsetof(struct place_note, distance) + distance;
    return place;
}

void place_note_read(struct cursor notes, uint64_t align, uint64_t address,
                     struct image_place places[PLACE_KINDS])
{
    struct elf_note note;
    for (int i = 0; i < NOTES_MAX; i++) {
        if (elf_next_note(&notes, align, &note) != CH_OK)
            return;
        if (!note_is_ours(&note) || places[note.type].address != 0)
            continue;
        struct cursor description =
            cursor_over(note.description, note.description_size);
        description.big_endian = notes.big_endian;
        // The description's size is such that no padding follows it.
        size_t end = cursor_offset(&notes);
        places[note.type] =
            read_noted_place(description, address + end - sizeof(struct place_note));
    }
}

const char *place_note_problem(const struct image_place *place, uint64_t start,
                               uint64_t end, size_t size)
{
    if (place->version != PLACE_NOTE_VERSION || place->size != size)
        return "what its note tells of is of another version";
    if (place->address < start || place->address >= end || size > end - place->address)
        return "what its note tells of is outside of its image";
    return NULL;
}

enum {
    MAPS_LIMIT_BYTES = 64 << 20,
    SEGMENTS_MAX = 256,
    PAGE_BYTES = 4096,
    HEAD_BYTES = 1024,
};

enum ch_status images_parse_maps(struct target_images *out)
{
    size_t capacity = 0;
    struct cursor text = cursor_over(out->maps.bytes, out->maps.size);
    struct maps_entry entry;
    for (;;) {
        enum ch_status line = maps_next(&text, &entry);
        if (line == CH_END)
            return CH_OK;
        if (line != CH_OK)
            continue;
        if (!array_reserve(&out->mappings, &capacity, out->mapping_count,
                           sizeof(*out->mappings)))
            return CH_ERR_NO_MEMORY;
        out->mappings[out->mapping_count++] = (struct target_mapping){
            .start = entry.start,
            .end = entry.end,
            .permissions = entry.permissions,
            .inode = entry.inode,
            .device = (uint64_t)entry.device_major << 32 | entry.device_minor,
            .offset = entry.offset,
            .path = entry.path,
            .path_size = entry.path_size,
            .deleted = entry.deleted,
        };
    }
}

static enum ch_status read_mappings(struct target_images *out, pid_t pid)
{
    enum ch_status status =
        read_process_file(pid, "maps", MAPS_LIMIT_BYTES, &out->maps);
    if (status != CH_OK && status != CH_ERR_LIMIT)
        return status;
    enum ch_status parsed = images_parse_maps(out);
    return parsed != CH_OK ? parsed : status;
}

// A first_page is a copy of the beginning of an image's first page, which for nearly
// every image has all that is needed.
struct first_page {
    const struct memory_reader *memory;
    uint64_t address;
    uint8_t bytes[HEAD_BYTES];
    size_t size;
};

// image_bytes gives size bytes at address, from the first page or else from the target
// into buffer; NULL when they cannot be read.
static const uint8_t *image_bytes(const struct first_page *page, uint64_t address,
                                  size_t size, uint8_t *buffer)
{
    uint64_t skip = address - page->address;
    if (skip <= page->size && size <= page->size - skip)
        return page->bytes + skip;
    return memory_read(page->memory, address, buffer, size) == CH_OK ? buffer : NULL;
}

static void read_image_notes(const struct first_page *page,
                             const struct elf_header *header,
                             const struct elf_segment *notes,
                             struct target_image *image)
{
    uint8_t buffer[4096];
    const uint8_t *id;
    size_t id_size;
    uint64_t address = image->bias + notes->vaddr;
    size_t size = notes->memory_size < sizeof(buffer) ? (size_t)notes->memory_size
                                                      : sizeof(buffer);
    const uint8_t *bytes = image_bytes(page, address, size, buffer);
    if (bytes == NULL)
        return;

    struct cursor c = cursor_over(bytes, size);
    c.big_endian = header->big_endian;
    place_note_read(c, notes->align, address, image->places);
    if (image->build_id_size != 0 ||
        elf_find_build_id(c, notes->align, &id, &id_size) != CH_OK)
        return;
    image->build_id_size = id_size < IMAGE_BUILD_ID_MAX ? id_size : IMAGE_BUILD_ID_MAX;
    memcpy(image->build_id, id, image->build_id_size);
}

static void note_image_segment(const struct first_page *page,
                               const struct elf_header *header,
                               const struct elf_segment *segment,
                               struct target_image *image)
{
    uint64_t address = image->bias + segment->vaddr;
    switch (segment->type) {
    case ELF_PT_LOAD:
        if (address + segment->memory_size > image->end)
            image->end = address + segment->memory_size;
        break;
    case ELF_PT_NOTE:
        read_image_notes(page, header, segment, image);
        break;
    case ELF_PT_DYNAMIC:
        image->dynamic = address;
        break;
    case ELF_PT_GNU_EH_FRAME:
        image->eh_frame_hdr = address;
        image->eh_frame_hdr_size = segment->memory_size;
        break;
    case ELF_PT_GNU_SFRAME:
        image->sframe = address;
        image->sframe_size = segment->memory_size;
        break;
    default:
        break;
    }
}

// read_image_segments walks the program headers twice: all other addresses need the
// bias, which the first PT_LOAD gives.
static void read_image_segments(const struct first_page *page,
                                const struct elf_header *header,
                                struct target_image *image)
{
    uint8_t buffer[SEGMENTS_MAX * ELF_SEGMENT_SIZE];
    uint32_t count = header->segment_count;
    if (count > SEGMENTS_MAX)
        count = SEGMENTS_MAX;
    size_t size = (size_t)count * header->segment_size;
    if (size > sizeof(buffer))
        return;
    const uint8_t *table =
        image_bytes(page, page->address + header->segment_offset, size, buffer);
    struct elf_segment segment;
    bool found = false;
    if (table == NULL)
        return;

    for (uint32_t i = 0; i < count && !found; i++) {
        found = elf_read_segment(header, table, size, i, &segment) == CH_OK &&
                segment.type == ELF_PT_LOAD;
    }
    if (!found)
        return;
    image->bias = image->base - (segment.vaddr & ~(uint64_t)(PAGE_BYTES - 1));
    if (header->entry != 0)
        image->entry = image->bias + header->entry;
    for (uint32_t i = 0; i < count; i++) {
        if (elf_read_segment(header, table, size, i, &segment) == CH_OK)
            note_image_segment(page, header, &segment, image);
    }
}

// read_live_image reads the ELF header at mapping's start; false when there is none.
static bool read_live_image(const struct memory_reader *memory,
                            const struct target_mapping *mapping,
                            struct target_image *out)
{
    struct first_page page = { .memory = memory, .address = mapping->start };
    struct elf_header header;
    size_t size = mapping->end - mapping->start < sizeof(page.bytes)
                      ? (size_t)(mapping->end - mapping->start)
                      : sizeof(page.bytes);

    page.size = memory->read(memory->source, mapping->start, page.bytes, size);
    if (elf_read_header(page.bytes, page.size, &header) != CH_OK)
        return false;
    *out = (struct target_image){
        .path = mapping->path,
        .path_size = mapping->path_size,
        .deleted = mapping->deleted,
        .base = mapping->start,
        .end = mapping->end,
        .bias = mapping->start,
    };
    read_image_segments(&page, &header, out);
    if (!header.is_64) {
        // The link map is read of 64-bit programs alone, and SFrame has no 32-bit form.
        out->dynamic = 0;
        out->sframe = 0;
        out->sframe_size = 0;
    }
    return true;
}

static bool same_file(const struct target_mapping *a, const struct target_mapping *b)
{
    return a->inode == b->inode && a->device == b->device;
}

static bool is_vdso(const struct target_mapping *mapping)
{
    return mapping->path_size == 6 && memcmp(mapping->path, "[vdso]", 6) == 0;
}

// find_end_of_text ends the image's text at its last executable mapping: one of its own
// file, or an anonymous one within its extent (programs move their text to huge pages).
// False: it has none.
static bool find_end_of_text(const struct target_images *all,
                             const struct target_mapping *header,
                             struct target_image *image)
{
    const struct target_mapping *end = all->mappings + all->mapping_count;
    for (const struct target_mapping *mapping = header; mapping < end; mapping++) {
        if (mapping->start >= image->end)
            break;
        if (same_file(mapping, header) && mapping->end > image->end)
            image->end = mapping->end;
        if (mapping->permissions & MAPS_EXECUTE &&
            (same_file(mapping, header) || (mapping->inode == 0 && !is_vdso(mapping))))
            image->end_of_text = mapping->end;
    }
    return image->end_of_text != 0;
}

bool images_may_start(const struct target_images *images, size_t index)
{
    const struct target_mapping *mapping = &images->mappings[index];
    bool vdso = is_vdso(mapping);
    if (!(mapping->permissions & MAPS_READ))
        return false;
    return vdso || (mapping->inode != 0 && (mapping->offset == 0 || index == 0 ||
                                            !same_file(mapping, mapping - 1)));
}

static enum ch_status append_image(struct target_images *out,
                                   const struct target_image *image)
{
    if (out->count == IMAGES_MAX)
        return CH_ERR_LIMIT;
    if (!array_reserve(&out->images, &out->capacity, out->count, sizeof(*out->images)))
        return CH_ERR_NO_MEMORY;
    out->images[out->count++] = *image;
    return CH_OK;
}

// repeats_header returns true if mapping is another segment of the image found last,
// whose header is mapped at header. Linkers that waste no file space (lld does not pad)
// let the segments of small programs share the file's first page, so each of them looks
// like another image.
static bool repeats_header(const struct target_images *all,
                           const struct target_mapping *header,
                           const struct target_mapping *mapping)
{
    return header != NULL && same_file(mapping, header) &&
           mapping->start < all->images[all->count - 1].end;
}

static enum ch_status find_live_images(struct target_images *out,
                                       const struct memory_reader *memory)
{
    const struct target_mapping *header = NULL;
    for (size_t i = 0; i < out->mapping_count; i++) {
        struct target_image image;
        const struct target_mapping *mapping = &out->mappings[i];
        if (!images_may_start(out, i) || repeats_header(out, header, mapping) ||
            !read_live_image(memory, mapping, &image) ||
            !find_end_of_text(out, mapping, &image))
            continue;
        enum ch_status status = append_image(out, &image);
        if (status != CH_OK)
            return status;
        header = mapping;
    }
    return CH_OK;
}

enum ch_status images_add(struct target_images *images,
                          const struct memory_reader *memory, uint64_t address,
                          const char *path)
{
    const struct target_mapping *mapping = images_mapping(images, address);
    struct target_image image;
    if (mapping == NULL || !(mapping->permissions & MAPS_READ))
        return CH_ERR_NOT_FOUND;
    struct target_mapping part = *mapping;
    part.start = address;
    if (!read_live_image(memory, &part, &image) ||
        !find_end_of_text(images, mapping, &image))
        return CH_ERR_NOT_FOUND;

    image.owned_path = strdup(path);
    if (image.owned_path == NULL)
        return CH_ERR_NO_MEMORY;
    image.path = image.owned_path;
    image.path_size = strlen(image.owned_path);
    enum ch_status status = append_image(images, &image);
    if (status != CH_OK) {
        free(image.owned_path);
        return status;
    }
    // The new image moves down to its place in the order.
    for (size_t i = images->count - 1;
         i > 0 && images->images[i - 1].base > images->images[i].base; i--) {
        struct target_image lower = images->images[i];
        images->images[i] = images->images[i - 1];
        images->images[i - 1] = lower;
    }
    return CH_OK;
}

enum ch_status images_list_for_unwinder(struct target_images *images)
{
    images->unwind = calloc(images->count + 1, sizeof(*images->unwind));
    if (images->unwind == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < images->count; i++) {
        const struct target_image *image = &images->images[i];
        images->unwind[i] = (struct unwind_image){
            .start = image->base,
            .end = image->end,
            .bias = image->bias,
            .entry = image->entry,
            .sframe = image->sframe,
            .sframe_size = image->sframe_size,
            .eh_frame_hdr = image->eh_frame_hdr,
            .eh_frame_hdr_size = image->eh_frame_hdr_size,
        };
    }
    return CH_OK;
}

static void image_free(struct target_image *image)
{
    free(image->owned_path);
    free(image->file);
    free(image->debug_frame);
    if (image->owns_file)
        close(image->file_fd);
}

// forget_images empties the list but keeps the mappings.
static void forget_images(struct target_images *images)
{
    for (size_t i = 0; i < images->count; i++)
        image_free(&images->images[i]);
    free(images->images);
    free(images->unwind);
    images->images = NULL;
    images->unwind = NULL;
    images->count = 0;
    images->capacity = 0;
}

enum ch_status images_build(struct target_images *images,
                            const struct memory_reader *memory)
{
    forget_images(images);
    return find_live_images(images, memory);
}

enum ch_status images_read(struct target_images *out, pid_t pid,
                           const struct memory_reader *memory)
{
    *out = (struct target_images){ 0 };
    enum ch_status status = read_mappings(out, pid);
    if (status != CH_OK && status != CH_ERR_LIMIT)
        return status;
    enum ch_status built = images_build(out, memory);
    return built != CH_OK ? built : status;
}

void images_deinit(struct target_images *images)
{
    forget_images(images);
    text_deinit(&images->maps);
    free(images->mappings);
    *images = (struct target_images){ 0 };
}

const struct target_image *images_find(const struct target_images *images,
                                       uint64_t address)
{
    size_t after = SORTED_UP_TO(images->images, images->count, base, address);
    if (after == 0 || address >= images->images[after - 1].end)
        return NULL;
    return &images->images[after - 1];
}

const struct target_mapping *images_mapping(const struct target_images *images,
                                            uint64_t address)
{
    size_t after =
        SORTED_UP_TO(images->mappings, images->mapping_count, start, address);
    if (after == 0 || address >= images->mappings[after - 1].end)
        return NULL;
    return &images->mappings[after - 1];
}

bool images_is_code(void *images, uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(images, address);
    return mapping != NULL && mapping->permissions & MAPS_EXECUTE;
}

bool images_is_data(void *images, uint64_t address)
{
    return images_find(images, address) != NULL && !images_is_code(images, address);
}
