// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/origin_heap.h"

#include <string.h>

#include "formats/debug/maps.h"

// A piece begins with the size of the one before it, if that is free, and its own size,
// whose lowest bits are flags (as in glibc since 2.3).
enum {
    HEAD_BYTES = 16,
    SIZE_OFFSET = 8,
    SIZE_FLAGS = 7,
    SIZE_UNUSED = 8,
    BEFORE_IN_USE = 1,
    IS_MAPPED = 2,
    SMALLEST = 32,
    ALIGNMENT = 16,
    PAGE_BYTES = 4096,
    PAGE_SHIFT = 12,
};

// Lists with links hold pieces up to this size, those of tcache. Heaps past a limit are
// not searched, as every page of them has to be considered.
enum { LINKED_LARGEST = 1040 };
#define HEAP_PAGES_MAX (UINT64_C(1) << 18)

bool origin_heap_is_heap(const struct target_mapping *mapping)
{
    static const char name[] = "[heap]";
    unsigned access = MAPS_READ | MAPS_WRITE;
    bool named = mapping->path_size == strlen(name) &&
                 memcmp(mapping->path, name, strlen(name)) == 0;
    return (mapping->permissions & access) == access && mapping->inode == 0 &&
           (named || mapping->path_size == 0);
}

static bool read_heap_word(const struct capture *capture, uint64_t address,
                           uint64_t *out)
{
    return memory_read_word(&capture->reader, address, out) == CH_OK;
}

bool origin_heap_is_piece(const struct capture *capture, uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(&capture->images, address);
    uint64_t before;
    uint64_t head;
    uint64_t next;
    if (mapping == NULL || !origin_heap_is_heap(mapping) || address % ALIGNMENT != 0 ||
        address - mapping->start < HEAD_BYTES ||
        !read_heap_word(capture, address - HEAD_BYTES, &before) ||
        !read_heap_word(capture, address - SIZE_OFFSET, &head))
        return false;
    uint64_t size = head & ~(uint64_t)SIZE_FLAGS;
    uint64_t begin = address - HEAD_BYTES;
    if (size < SMALLEST || head & SIZE_UNUSED)
        return false;
    if (head & IS_MAPPED) // the piece has a mapping of its own
        return before == 0 && begin % PAGE_BYTES == 0 && size % PAGE_BYTES == 0 &&
               size <= mapping->end - begin && size >= 32 * PAGE_BYTES;
    if (size >= mapping->end - begin ||
        !read_heap_word(capture, begin + size + SIZE_OFFSET, &next))
        return false;
    uint64_t next_size = next & ~(uint64_t)SIZE_FLAGS;
    return next & BEFORE_IN_USE && !(next & (IS_MAPPED | SIZE_UNUSED)) &&
           next_size >= SMALLEST && next_size <= mapping->end - (begin + size);
}

// linked_size is the size of the piece at address, if its list may have links; 0: it
// may not.
static uint64_t linked_size(const struct capture *capture,
                            const struct target_mapping *heap, uint64_t address)
{
    uint64_t head;
    if (address % ALIGNMENT != 0 || address - heap->start < HEAD_BYTES ||
        address >= heap->end || !read_heap_word(capture, address - SIZE_OFFSET, &head))
        return 0;
    uint64_t size = head & ~(uint64_t)SIZE_FLAGS;
    bool fits = size >= SMALLEST && size <= LINKED_LARGEST &&
                size < heap->end - (address - HEAD_BYTES);
    return fits && !(head & (SIZE_UNUSED | IS_MAPPED)) ? size : 0;
}

// is_link returns true if the word at piece is the link of a free piece, and next
// decodes from it: a list has pieces of one size. Lists of threads (tcache) link
// pieces, those of the heap itself (fastbins) what is before them.
static bool is_link(const struct capture *capture, const struct target_mapping *heap,
                    uint64_t piece, uint64_t next)
{
    uint64_t size = linked_size(capture, heap, piece);
    return size != 0 && (next == 0 || linked_size(capture, heap, next) == size ||
                         linked_size(capture, heap, next + HEAD_BYTES) == size);
}

// find_in_page finds the link in one page of a heap.
static bool find_in_page(const struct capture *capture,
                         const struct target_mapping *heap, uint64_t page,
                         uint64_t value, uint64_t *out_piece)
{
    uint64_t words[PAGE_BYTES / sizeof(uint64_t)];
    uint64_t next = value ^ page >> PAGE_SHIFT;
    size_t size =
        capture->reader.read(capture->reader.source, page, words, sizeof(words));
    for (size_t i = 0; (i + 1) * sizeof(words[0]) <= size; i += 2) {
        uint64_t piece = page + i * sizeof(words[0]);
        if (words[i] != value || !is_link(capture, heap, piece, next))
            continue;
        *out_piece = piece;
        return true;
    }
    return false;
}

// find_in_heap tries the pages that the link may be in: those from whose number the
// value leads to the same heap.
static bool find_in_heap(const struct capture *capture,
                         const struct target_mapping *heap, uint64_t value,
                         size_t *pages_left, uint64_t *out_piece)
{
    if ((heap->end - heap->start) >> PAGE_SHIFT > HEAP_PAGES_MAX)
        return false;
    for (uint64_t page = heap->start; page < heap->end; page += PAGE_BYTES) {
        uint64_t next = value ^ page >> PAGE_SHIFT;
        bool leads = next == 0 ||
                     (next % ALIGNMENT == 0 && next >= heap->start && next < heap->end);
        if (!leads)
            continue;
        if (*pages_left == 0)
            return false;
        --*pages_left;
        if (find_in_page(capture, heap, page, value, out_piece))
            return true;
    }
    return false;
}

bool origin_heap_find_link(const struct capture *capture, uint64_t value,
                           uint64_t *out_piece, uint64_t *out_next)
{
    size_t pages_left = ORIGIN_HEAP_PAGES;
    for (size_t i = 0; value != 0 && i < capture->images.mapping_count; i++) {
        const struct target_mapping *heap = &capture->images.mappings[i];
        uint64_t piece;
        // The upper bits of a link are those of an address in the heap, or 0.
        if (!origin_heap_is_heap(heap) ||
            (value >> 40 != 0 && value >> 40 != heap->start >> 40))
            continue;
        if (!find_in_heap(capture, heap, value, &pages_left, &piece))
            continue;
        *out_piece = piece;
        *out_next = value ^ piece >> PAGE_SHIFT;
        return true;
    }
    return false;
}

// is_free_piece returns true if a piece that begins at chunk may be free: it has a
// size, and lies in a heap.
static bool is_free_piece(const struct capture *capture, uint64_t chunk)
{
    const struct target_mapping *heap = images_mapping(&capture->images, chunk);
    uint64_t head;
    if (heap == NULL || !origin_heap_is_heap(heap) || chunk % ALIGNMENT != 0 ||
        !read_heap_word(capture, chunk + SIZE_OFFSET, &head))
        return false;
    uint64_t size = head & ~(uint64_t)SIZE_FLAGS;
    return size >= SMALLEST && size < heap->end - chunk &&
           !(head & (SIZE_UNUSED | IS_MAPPED));
}

bool origin_heap_find_bin(const struct capture *capture, uint64_t value,
                          uint64_t *out_piece)
{
    enum { FORTH = 16, BACK = 24 };
    uint64_t first;
    uint64_t last;
    uint64_t back;
    uint64_t forth;
    if (!read_heap_word(capture, value + FORTH, &first) ||
        !read_heap_word(capture, value + BACK, &last) ||
        !is_free_piece(capture, first) || !is_free_piece(capture, last) ||
        !read_heap_word(capture, first + BACK, &back) ||
        !read_heap_word(capture, last + FORTH, &forth) || back != value ||
        forth != value)
        return false;
    *out_piece = last + HEAD_BYTES;
    return true;
}

// is_linked_piece returns true if the piece at address is free and in a list: its first
// word is such a link, which other data hardly ever is.
static bool is_linked_piece(const struct capture *capture,
                            const struct target_mapping *heap, uint64_t address)
{
    uint64_t link;
    return read_heap_word(capture, address, &link) &&
           is_link(capture, heap, address, link ^ address >> PAGE_SHIFT);
}

// is_binned_piece returns true if the piece at address is free and in one of the lists
// of larger pieces: the piece after it has its size.
static bool is_binned_piece(const struct capture *capture,
                            const struct target_mapping *heap, uint64_t address,
                            uint64_t size)
{
    uint64_t next = address - HEAD_BYTES + size;
    uint64_t before;
    uint64_t head;
    return size < heap->end - (address - HEAD_BYTES) &&
           read_heap_word(capture, next, &before) && before == size &&
           read_heap_word(capture, next + SIZE_OFFSET, &head) &&
           !(head & (BEFORE_IN_USE | IS_MAPPED | SIZE_UNUSED));
}

// read_heap_block tells of the piece at address, of size bytes, what it is. False: it
// is none.
static bool read_heap_block(const struct capture *capture,
                            const struct target_mapping *heap, uint64_t address,
                            uint64_t head, struct origin_block *out)
{
    uint64_t size = head & ~(uint64_t)SIZE_FLAGS;
    bool used = origin_heap_is_piece(capture, address);
    // A mapped piece does not lend its last word to one after it.
    uint64_t lost = head & IS_MAPPED ? HEAD_BYTES : SIZE_OFFSET;
    *out = (struct origin_block){
        .address = address,
        .size = size - lost,
        .freed = used ? is_linked_piece(capture, heap, address)
                      : is_binned_piece(capture, heap, address, size),
    };
    return used || out->freed;
}

bool origin_heap_find_block(const struct capture *capture, uint64_t address,
                            struct origin_block *out)
{
    uint64_t words[PAGE_BYTES / sizeof(uint64_t)];
    const struct target_mapping *heap = images_mapping(&capture->images, address);
    size_t found = 0;
    if (heap == NULL || !origin_heap_is_heap(heap))
        return false;
    // From before the head of the first block that may be it, up to the one that may
    // begin at address.
    uint64_t end = address & ~(uint64_t)(ALIGNMENT - 1);
    uint64_t begin =
        end - heap->start > sizeof(words) ? end - sizeof(words) : heap->start;
    size_t size = end > begin ? capture->reader.read(capture->reader.source, begin,
                                                     words, (size_t)(end - begin))
                              : 0;
    for (size_t i = 1; (i + 1) * sizeof(words[0]) <= size && found < 2; i += 2) {
        struct origin_block block;
        uint64_t place = begin + (i + 1) * sizeof(words[0]);
        uint64_t length = words[i] & ~(uint64_t)SIZE_FLAGS;
        if (length < SMALLEST || address - place >= length - SIZE_OFFSET ||
            !read_heap_block(capture, heap, place, words[i], &block))
            continue;
        *out = block;
        found++;
    }
    return found == 1;
}
