// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/malloc_chunks.h"

#include <ctype.h>
#include <string.h>

#include "agent/facts/origin_heap.h"

enum {
    SIZE_OFFSET = 8,
    HEAD_BYTES = 16,
    SIZE_FLAGS = 7,
    BEFORE_IN_USE = 1,
    IS_MAPPED = 2,
    SMALLEST = 32,
    ALIGNMENT = 16,
    FENCE = 16, // the size of what malloc puts where a heap is interrupted
    FETCHED = 32,
    SEARCHED_BYTES = 8192, // for the first chunk
};

// walk is a walk over the chunks of one heap.
struct walk {
    const struct capture *capture;
    const struct target_mapping *heap;
    size_t *left;     // bytes that may still be read
    uint64_t fetched; // up to here
    uint64_t chunk;
    uint64_t before;  // 0: chunk is the first
    size_t looked_at; // chunks, for lists that lead nowhere
    struct malloc_chunks *out;
};

static bool chunks_read(const struct walk *w, uint64_t address, uint64_t *out)
{
    return memory_read_word(&w->capture->reader, address, out) == CH_OK;
}

// chunks_fetch reads the heap from the chunk on with one call. False: enough was read.
static bool chunks_fetch(struct walk *w)
{
    enum { BYTES = FETCHED * TARGET_BLOCK_BYTES };
    uint64_t addresses[FETCHED];
    if (w->chunk + HEAD_BYTES <= w->fetched)
        return true;
    if (*w->left < BYTES)
        return false;
    for (size_t i = 0; i < FETCHED; i++)
        addresses[i] = w->chunk + i * TARGET_BLOCK_BYTES;
    memory_fetch(&w->capture->reader, addresses, FETCHED);
    *w->left -= BYTES;
    w->fetched = w->chunk + BYTES - TARGET_BLOCK_BYTES;
    return true;
}

// chunks_first finds the first chunk of a heap, which has the lists of a thread: in
// static programs the heap has other things before it, and of a thread's heap what
// describes it.
static bool chunks_first(struct walk *w)
{
    static const uint64_t sizes[] = { 0x290, 0x250 }; // glibc 2.30 and 2.26
    uint64_t head;
    for (uint64_t at = 0; at < SEARCHED_BYTES; at += ALIGNMENT) {
        w->chunk = w->heap->start + at;
        if (!chunks_fetch(w) || !chunks_read(w, w->chunk + SIZE_OFFSET, &head))
            return false;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            if ((head & ~(uint64_t)SIZE_FLAGS) == sizes[i] && head & BEFORE_IN_USE &&
                !(head & IS_MAPPED))
                return true;
    }
    return false;
}

// is_in_heap returns true if malloc may have a block at address.
static bool is_in_heap(const struct walk *w, uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(&w->capture->images, address);
    return mapping != NULL && address % ALIGNMENT == 0 && origin_heap_is_heap(mapping);
}

// chunks_text copies the printable characters at address, and returns how many there
// are.
static size_t chunks_text(const struct walk *w, uint64_t address, char *to, size_t size)
{
    const struct memory_reader *reader = &w->capture->reader;
    size_t got = reader->read(reader->source, address, to, size - 1);
    size_t length = 0;
    while (length < got && length < size - 1 && isprint((unsigned char)to[length]))
        length++;
    to[length] = 0;
    return length;
}

// chunks_runs_on returns true if every byte from the content of the chunk before up to
// the damaged field, of 8 bytes, is a character.
static bool chunks_runs_on(const struct walk *w, uint64_t field)
{
    char bytes[HEAP_CHUNKS_TEXT];
    uint64_t from = w->before + HEAD_BYTES;
    const uint64_t end = field + sizeof(uint64_t);
    if (end - from > HEAP_CHUNKS_BYTES)
        return false;
    while (from < end) {
        size_t left = (size_t)(end - from);
        size_t wanted = left < sizeof(bytes) - 1 ? left : sizeof(bytes) - 1;
        if (chunks_text(w, from, bytes, wanted + 1) != wanted)
            return false;
        from += wanted;
    }
    return true;
}

// chunks_damaged describes the damaged field of the chunk that the walk is at.
static void chunks_damaged(const struct walk *w, const char *field, uint64_t place,
                           uint64_t value, bool texts)
{
    enum { SHORTEST = 4 };
    struct crash_chunk *chunk = &w->out->chunk;
    char *text = w->out->value;
    *chunk = (struct crash_chunk){ .address = w->chunk + HEAD_BYTES,
                                   .field = field,
                                   .value = value };
    size_t length = chunks_text(w, place, text, sizeof(value) + 1);
    chunk->is_text = length >= SHORTEST;
    if (texts && chunk->is_text)
        chunk->text = text;
    if (w->before == 0)
        return;
    chunk->before = w->before + HEAD_BYTES;
    chunk->before_size = w->chunk - w->before - SIZE_OFFSET;
    chunk->runs_on = chunks_runs_on(w, place);
    length = chunks_text(w, chunk->before, w->out->content, sizeof(w->out->content));
    if (texts && length >= SHORTEST)
        chunk->before_text = w->out->content;
}

// chunks_walk follows the chunks to the heap's last, or to one that is damaged.
static void chunks_walk(struct walk *w, bool texts)
{
    uint64_t head;
    uint64_t next;
    uint64_t before;
    while (chunks_fetch(w) && chunks_read(w, w->chunk + SIZE_OFFSET, &head)) {
        uint64_t size = head & ~(uint64_t)SIZE_FLAGS;
        if (size == FENCE)
            return;
        if (size < SMALLEST || size % ALIGNMENT != 0 || head & IS_MAPPED ||
            size > w->heap->end - w->chunk) {
            chunks_damaged(w, "size", w->chunk + SIZE_OFFSET, head, texts);
            return;
        }
        if (size == w->heap->end - w->chunk)
            return;
        uint64_t end = w->chunk + size;
        if (!chunks_read(w, end, &before) || !chunks_read(w, end + SIZE_OFFSET, &next))
            return;
        bool plausible = (next & ~(uint64_t)SIZE_FLAGS) >= SMALLEST &&
                         !(next & (IS_MAPPED | SIZE_OFFSET)) &&
                         (next & ~(uint64_t)SIZE_FLAGS) <= w->heap->end - end;
        w->before = w->chunk;
        w->chunk = end;
        if (plausible && !(next & BEFORE_IN_USE) && before != size) {
            chunks_damaged(w, "previous-size", end, before, texts);
            return;
        }
    }
}

enum { LINK_SHIFT = 12 }; // glibc 2.32 hides a link by its address shifted

// chunks_written describes a block that was written to after it was freed.
static void chunks_written(const struct walk *w, uint64_t block, uint64_t size,
                           uint64_t link, bool texts)
{
    enum { SHORTEST = 4 };
    struct crash_chunk *chunk = &w->out->chunk;
    *chunk = (struct crash_chunk){ .address = block,
                                   .field = "next-free",
                                   .size = size - SIZE_OFFSET,
                                   .value = link };
    chunk->is_text = chunks_text(w, block, w->out->value, sizeof(link) + 1) >= SHORTEST;
    if (texts && chunk->is_text)
        chunk->text = w->out->value;
}

// chunks_follow follows a list of freed blocks of one size to the first that was
// written to.
static void chunks_follow(const struct walk *w, uint64_t block, uint64_t size,
                          bool texts)
{
    enum { LONGEST = 16 };
    uint64_t head;
    uint64_t link;
    for (int i = 0; i < LONGEST && is_in_heap(w, block); i++) {
        if (!chunks_read(w, block - SIZE_OFFSET, &head) ||
            !chunks_read(w, block, &link) || (head & ~(uint64_t)SIZE_FLAGS) != size)
            return;
        uint64_t next = link ^ block >> LINK_SHIFT;
        if (next == 0 || link == 0)
            return;
        if (!is_in_heap(w, next) && !is_in_heap(w, link)) {
            chunks_written(w, block, size, link, texts);
            return;
        }
        block = is_in_heap(w, next) ? next : link;
    }
}

// chunks_handed_out searches the block of which a list has its first link: malloc took
// that link from the block's first word when it handed the block out again. The chunk
// with the lists has links of its own there. All lists may be damaged: together they
// cost no more than one walk.
static void chunks_handed_out(struct walk *w, uint64_t taken, uint64_t size, bool texts)
{
    enum { CHUNKS_MAX = HEAP_CHUNKS_BYTES / SMALLEST };
    uint64_t head;
    uint64_t word;
    uint64_t at = w->chunk;
    while (at - w->heap->start < HEAP_CHUNKS_BYTES && w->looked_at++ < CHUNKS_MAX &&
           chunks_read(w, at + SIZE_OFFSET, &head)) {
        uint64_t block = at + HEAD_BYTES;
        uint64_t here = head & ~(uint64_t)SIZE_FLAGS;
        if (here < SMALLEST || here > w->heap->end - at)
            return;
        if (here == size && at != w->chunk && chunks_read(w, block, &word) &&
            (word == taken || (word ^ block >> LINK_SHIFT) == taken)) {
            chunks_written(w, block, size, word, texts);
            return;
        }
        at += here;
    }
}

// chunks_freed searches the lists of the heap's first chunk, at which the walk is: for
// each size a number and then for each a link.
static void chunks_freed(struct walk *w, bool texts)
{
    enum { LISTS = 64, NARROW = 0x250 };
    uint64_t head;
    uint64_t block;
    if (!chunks_read(w, w->chunk + SIZE_OFFSET, &head))
        return;
    size_t counter = (head & ~(uint64_t)SIZE_FLAGS) == NARROW ? 1 : 2;
    uint64_t links = w->chunk + HEAD_BYTES + counter * LISTS;
    for (uint64_t i = 0; i < LISTS && w->out->chunk.address == 0; i++) {
        const uint64_t size = SMALLEST + i * ALIGNMENT;
        if (!chunks_read(w, links + i * sizeof(block), &block) || block == 0)
            continue;
        if (is_in_heap(w, block))
            chunks_follow(w, block, size, texts);
        else
            chunks_handed_out(w, block, size, texts);
    }
}

void malloc_chunks_find(const struct capture *capture, bool texts,
                        struct malloc_chunks *out)
{
    static const char name[] = "[heap]";
    enum { ARENA_BYTES = 64 << 20, HEAPS_MAX = 8 };
    size_t left = HEAP_CHUNKS_BYTES;
    size_t tried = 0;
    *out = (struct malloc_chunks){ 0 };
    for (size_t i = 0; i < capture->images.mapping_count && tried < HEAPS_MAX; i++) {
        const struct target_mapping *mapping = &capture->images.mappings[i];
        bool named = mapping->path_size == strlen(name) &&
                     memcmp(mapping->path, name, strlen(name)) == 0;
        if (!origin_heap_is_heap(mapping) ||
            (!named && mapping->start % ARENA_BYTES != 0))
            continue;
        struct walk walk = { capture, mapping, &left, 0, 0, 0, 0, out };
        tried++;
        if (!chunks_first(&walk))
            continue;
        const uint64_t first = walk.chunk;
        chunks_walk(&walk, texts);
        walk.chunk = first;
        if (out->chunk.address == 0)
            chunks_freed(&walk, texts);
        if (out->chunk.address != 0)
            return;
    }
}
