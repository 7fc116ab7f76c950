// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/debug/maps.h"

enum {
    ENTRY_SIZE = 32,
    PADDING_SIZE = 13,
    FUNCTION_OFFSET = 8,
    VERSION_RELATIVE = 2,
    KIND_MAX = 5,
    VERSION_OFFSET = 18,
    ENTRIES_MIN = 2, // a function has an entry and an exit
    FUNCTION_BYTES_MAX = 16 << 20,
    MAPPING_BYTES_MAX = 64 << 20,
};

struct map_search {
    const struct target_image *image;
    uint64_t *functions;
    size_t limit;
    size_t count;
    size_t entries;    // of the run being read
    uint64_t previous; // the previous entry's function
};

static bool flight_is_in_text(const struct target_image *image, uint64_t address)
{
    return address >= image->base && address < image->end_of_text;
}

// read_map_entry decodes what may be an entry at address at. False: it is not one.
static bool read_map_entry(const struct target_image *image, const uint8_t *bytes,
                           uint64_t at, uint64_t *out_function)
{
    static const uint8_t zeros[PADDING_SIZE];
    struct cursor entry = cursor_over(bytes, ENTRY_SIZE);
    uint64_t place = at + cursor_u64(&entry);
    uint64_t function = at + FUNCTION_OFFSET + cursor_u64(&entry);
    uint8_t kind = cursor_u8(&entry);
    uint8_t always = cursor_u8(&entry);
    uint8_t version = cursor_u8(&entry);
    const uint8_t *padding = cursor_take(&entry, PADDING_SIZE);
    if (!cursor_ok(&entry) || kind > KIND_MAX || always > 1 ||
        version != VERSION_RELATIVE || memcmp(padding, zeros, PADDING_SIZE) != 0 ||
        !flight_is_in_text(image, place) || !flight_is_in_text(image, function) ||
        place < function || place - function > FUNCTION_BYTES_MAX)
        return false;
    *out_function = function;
    return true;
}

static void add_map_entry(struct map_search *search, uint64_t function)
{
    if (search->entries++ != 0 && function == search->previous)
        return;
    search->previous = function;
    if (search->count < search->limit)
        search->functions[search->count++] = function;
}

// read_map_entries reads consecutive entries from the start of bytes on.
static void read_map_entries(struct map_search *search, const uint8_t *bytes,
                             size_t size, uint64_t address)
{
    uint64_t function = 0;
    search->entries = 0;
    search->count = 0;
    for (size_t at = 0; size - at >= ENTRY_SIZE; at += ENTRY_SIZE) {
        if (!read_map_entry(search->image, bytes + at, address + at, &function))
            return;
        add_map_entry(search, function);
    }
}

// search_bytes finds the first run of entries and reads it. True: it was found. The
// search goes byte by byte because the section has no alignment.
static bool search_bytes(struct map_search *search, const uint8_t *bytes, size_t size,
                         uint64_t address)
{
    for (size_t at = 0; at + ENTRY_SIZE <= size; at++) {
        if (bytes[at + VERSION_OFFSET] != VERSION_RELATIVE)
            continue;
        read_map_entries(search, bytes + at, size - at, address + at);
        if (search->entries >= ENTRIES_MIN)
            return true;
    }
    return false;
}

static bool search_mapping(struct map_search *search, struct capture *capture,
                           const struct target_mapping *mapping)
{
    size_t size = (size_t)(mapping->end - mapping->start);
    uint8_t *bytes = size <= MAPPING_BYTES_MAX ? malloc(size) : NULL;
    if (bytes == NULL)
        return false;
    size = target_memory_copy(&capture->memory, mapping->start, bytes, size);
    bool found = search_bytes(search, bytes, size, mapping->start);
    free(bytes);
    return found;
}

// find_flight_program is the image of the program's executable.
static const struct target_image *find_flight_program(const struct capture *capture)
{
    const struct text *path = &capture->process.executable;
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct target_image *image = &capture->images.images[i];
        if (path->size != 0 && image->path_size == path->size &&
            memcmp(image->path, path->bytes, path->size) == 0)
            return image;
    }
    return NULL;
}

size_t flight_map_find(struct capture *capture, uint64_t *functions, size_t limit)
{
    struct map_search search = { .image = find_flight_program(capture),
                                 .functions = functions,
                                 .limit = limit };
    const struct target_images *images = &capture->images;
    for (size_t i = 0; search.image != NULL && i < images->mapping_count; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        bool data = (mapping->permissions & MAPS_READ) != 0 &&
                    (mapping->permissions & MAPS_EXECUTE) == 0;
        if (data && mapping->start >= search.image->base &&
            mapping->start < search.image->end &&
            search_mapping(&search, capture, mapping))
            return search.count;
    }
    return 0;
}
