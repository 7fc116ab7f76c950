// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/origin_image.h"

#include <string.h>

#include "agent/facts/origin_heap.h"
#include "base/system/file.h"

// Offsets in glibc's description of an image, whose beginning is the same in all
// versions: where it is itself, and the name that it was opened by.
// Its bounds (start, end) stand together further on. The name follows
// a node of a list, in the same memory, of which malloc overwrites the last word once
// it is freed.
enum {
    REAL = 40,
    LIBNAME = 56,
    BOUNDS_FIRST = 64,
    DESCRIPTION_MAX = 4096,
    LIBNAME_BYTES = 24,
    PAGE_BYTES = 4096,
    PIECE_PAGES = 4, // read at once
    WORD = 8,
    HEAD_BYTES = 16,  // of a piece of memory
    LINKS_BYTES = 16, // of a freed piece, that malloc overwrites at its beginning
    PATH_BEFORE = 256,
    NAME_PATH_MAX = 512,
};
#define IMAGE_MAX (UINT64_C(1) << 32)

// has_bounds returns true if the description of so many bytes has the bounds of an
// image around address, of which nothing is mapped.
static bool has_bounds(const struct capture *capture, uint64_t description,
                       uint64_t size, uint64_t address)
{
    uint64_t words[DESCRIPTION_MAX / WORD];
    if (memory_read(&capture->reader, description, words, (size_t)size) != CH_OK)
        return false;
    for (size_t i = BOUNDS_FIRST / WORD; i + 1 < size / WORD; i++) {
        uint64_t start = words[i];
        uint64_t end = words[i + 1];
        if (start % PAGE_BYTES == 0 && start <= address && address < end &&
            end - start < IMAGE_MAX && images_mapping(&capture->images, start) == NULL)
            return true;
    }
    return false;
}

// is_image_name returns true if it is a name as files of libraries have.
static bool is_image_name(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] >= 0x7f)
            return false;
    return size != 0 && size < ORIGIN_IMAGE_NAME_BYTES;
}

// footer_of is where malloc has put the size of a freed piece, in its last word.
static uint64_t footer_of(const struct capture *capture, uint64_t piece)
{
    uint64_t size = 0;
    (void)!memory_read_word(&capture->reader, piece - WORD, &size);
    return piece - HEAD_BYTES + (size & ~UINT64_C(7));
}

// complete_name finds the rest of a name that was cut: the path that the library was
// found at was allocated right before its description. So many of the name's first
// characters may be overwritten there, as that piece is freed too.
static void complete_name(const struct capture *capture, uint64_t description,
                          size_t overwritten, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    char before[PATH_BEFORE + 1] = "";
    size_t size = strlen(out);
    if (memory_read(&capture->reader, description - HEAD_BYTES - PATH_BEFORE, before,
                    PATH_BEFORE) != CH_OK)
        return;
    for (size_t i = PATH_BEFORE; i-- > 1;) {
        bool whole = before[i - 1] == '/';
        size_t skipped = whole ? 0 : overwritten;
        const char *name = before + i;
        bool begins = whole || i % LINKS_BYTES == 0;
        if (!begins || size <= skipped ||
            strncmp(name, out + skipped, size - skipped) != 0 || !is_image_name(name) ||
            skipped + strlen(name) >= ORIGIN_IMAGE_NAME_BYTES)
            continue;
        memcpy(out + skipped, name, strlen(name) + 1);
        return;
    }
    if (size + sizeof("...") <= ORIGIN_IMAGE_NAME_BYTES)
        memcpy(out + size, "...", sizeof("..."));
}

// read_image_name reads the name at its node. False: it has none.
static bool read_image_name(const struct capture *capture, uint64_t description,
                            uint64_t libname, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    char path[NAME_PATH_MAX];
    uint64_t name;
    uint64_t footer = footer_of(capture, description);
    if (memory_read_word(&capture->reader, libname, &name) != CH_OK ||
        name != libname + LIBNAME_BYTES ||
        memory_read_string(&capture->reader, name, path, sizeof(path)) != CH_OK)
        return false;
    bool cut = footer > name && footer - name <= strlen(path);
    if (cut)
        path[footer - name] = 0;
    const char *last = file_name(path);
    if (last == NULL || !is_image_name(last))
        return false;
    memcpy(out, last, strlen(last) + 1);
    size_t at = (size_t)(last - path);
    if (cut)
        complete_name(capture, description, at < LINKS_BYTES ? LINKS_BYTES - at : 0,
                      out);
    return true;
}

static bool is_image_at(const struct capture *capture, uint64_t description,
                        uint64_t address, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    uint64_t libname;
    return memory_read_word(&capture->reader, description + LIBNAME, &libname) ==
               CH_OK &&
           libname > description + BOUNDS_FIRST &&
           libname - description < DESCRIPTION_MAX && libname % WORD == 0 &&
           has_bounds(capture, description, libname - description, address) &&
           read_image_name(capture, description, libname, out);
}

// find_image_in looks at the words of some pages for a description's pointer to itself.
static bool find_image_in(const struct capture *capture, uint64_t page, uint64_t size,
                          uint64_t address, char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    uint64_t words[PIECE_PAGES * PAGE_BYTES / WORD];
    if (memory_read(&capture->reader, page, words, (size_t)size) != CH_OK)
        return false;
    for (size_t i = 0; i < size / WORD; i++) {
        uint64_t at = page + i * WORD;
        if (words[i] == at - REAL && is_image_at(capture, at - REAL, address, out))
            return true;
    }
    return false;
}

bool origin_image_find(const struct capture *capture, uint64_t address,
                       char out[static ORIGIN_IMAGE_NAME_BYTES])
{
    size_t pages_left = ORIGIN_IMAGE_PAGES;
    for (size_t i = 0; i < capture->images.mapping_count; i++) {
        const struct target_mapping *heap = &capture->images.mappings[i];
        if (!origin_heap_is_heap(heap))
            continue;
        uint64_t page = heap->start;
        while (page < heap->end && pages_left >= PIECE_PAGES) {
            uint64_t left = heap->end - page;
            uint64_t most = PIECE_PAGES * PAGE_BYTES;
            uint64_t size = left < most ? left : most;
            if (find_image_in(capture, page, size, address, out))
                return true;
            page += size;
            pages_left -= PIECE_PAGES;
        }
    }
    return false;
}
