// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/watch.h"

#include <stdlib.h>
#include <string.h>

#include "agent/facts/held_pointers.h"
#include "base/array.h"
#include "formats/debug/maps.h"
#include "report/file/held_file.h"
#include "shared/watch_page.h"

enum {
    PIECE_MAX = 4096,      // copied per pointer
    LOWEST_POINTER = 4096, // nothing is mapped below
    BUCKETS = 1024,
    TABLES_MAX = 4, // copies of the library in one process
};

// A piece is a copied range of memory. The pieces of all watches are kept, so that
// shared memory is copied once.
struct piece {
    uint64_t address;
    size_t size;
    size_t at;     // offset of its bytes in out
    uint32_t next; // 1 + index of the next in the same bucket; 0: none
};

struct copier {
    struct capture *capture;
    struct text *out;
    uint64_t left; // bytes that may still be copied for the current watch
    struct piece *pieces;
    size_t count;
    size_t capacity;
    uint32_t buckets[BUCKETS]; // by page: 1 + index of the first piece; 0: none
    bool cut;                  // the current watch was
    bool any_cut;              // an earlier one was
    bool met;                  // the current watch leads to memory copied for another
};

static uint32_t *bucket_of(struct copier *copier, uint64_t address)
{
    return &copier->buckets[address / PIECE_MAX % BUCKETS];
}

// begins_near returns true if a piece that begins in near's page contains address.
static bool begins_near(struct copier *copier, uint64_t near, uint64_t address)
{
    uint32_t first = copier->pieces != NULL ? *bucket_of(copier, near) : 0;
    for (uint32_t i = first; i != 0; i = copier->pieces[i - 1].next)
        if (address - copier->pieces[i - 1].address < copier->pieces[i - 1].size)
            return true;
    return false;
}

// is_copied returns true if a piece contains address. No piece is longer than a page,
// so it begins in the same page or the one before.
static bool is_copied(struct copier *copier, uint64_t address)
{
    return begins_near(copier, address, address) ||
           begins_near(copier, address - PIECE_MAX, address);
}

static bool add_piece(struct copier *copier, const struct piece *piece)
{
    if (!array_reserve(&copier->pieces, &copier->capacity, copier->count,
                       sizeof(copier->pieces[0])))
        return false;
    uint32_t *bucket = bucket_of(copier, piece->address);
    copier->pieces[copier->count] = *piece;
    copier->pieces[copier->count].next = *bucket;
    *bucket = (uint32_t)++copier->count;
    return true;
}

// copy_watched appends the size bytes at address, as far as they can be read and the
// limit allows.
static void copy_watched(struct copier *copier, uint64_t address, uint64_t size)
{
    uint8_t buffer[PIECE_MAX];
    const struct memory_reader *reader = &copier->capture->reader;
    if (size > copier->left)
        copier->cut = true;
    while (size > 0 && copier->left > 0) {
        size_t wanted = size < sizeof(buffer) ? (size_t)size : sizeof(buffer);
        wanted = wanted < copier->left ? wanted : (size_t)copier->left;
        size_t got = reader->read(reader->source, address, buffer, wanted);
        if (got == 0 || got > wanted)
            return;
        held_file_add_memory(copier->out, address, buffer, got);
        const struct piece piece = { .address = address,
                                     .size = got,
                                     .at = copier->out->size - got };
        if (!text_ok(copier->out) || !add_piece(copier, &piece))
            return;
        copier->left -= got;
        address += got;
        size -= got;
    }
}

// follow_pointer copies what word points to, if it is a pointer to data.
static void follow_pointer(struct copier *copier, uint64_t word)
{
    if (word < LOWEST_POINTER)
        return;
    const struct target_mapping *mapping =
        images_mapping(&copier->capture->images, word);
    if (mapping == NULL || !(mapping->permissions & MAPS_READ) ||
        mapping->permissions & MAPS_EXECUTE)
        return;
    if (is_copied(copier, word)) {
        copier->met = true;
        return;
    }
    uint64_t size = PIECE_MAX;
    if (mapping->permissions & MAPS_WRITE && mapping->inode == 0)
        size = held_chunk_bytes(&copier->capture->reader, word);
    if (size == 0 || size > PIECE_MAX)
        size = PIECE_MAX;
    copy_watched(copier, word, size < mapping->end - word ? size : mapping->end - word);
}

// follow_words treats each aligned word of a piece as a pointer.
static void follow_words(struct copier *copier, const struct piece *piece)
{
    size_t at = (size_t)(-piece->address % sizeof(uint64_t));
    for (; at + sizeof(uint64_t) <= piece->size && !copier->cut;
         at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, copier->out->bytes + piece->at + at, sizeof(word));
        follow_pointer(copier, word);
    }
}

// bytes_limit is the limit per watch: small while a live process waits, large for a
// core or for a process that is held for its report anyway.
static uint64_t bytes_limit(const struct capture *capture)
{
    bool brief =
        capture->settings->hold == HOLD_AUTO || capture->settings->hold == HOLD_CAPTURE;
    return brief && capture_is_process(capture) ? WATCH_BYTES_MAX
                                                : WATCH_BYTES_HELD_MAX;
}

// follow_watched_pointers continues breadth first from the pieces from first on, which
// are the object, and says how far it got.
static enum held_cut follow_watched_pointers(struct copier *copier, size_t first)
{
    size_t object_end = copier->count;
    size_t i = first;
    for (; i < copier->count && !copier->cut; i++) {
        const struct piece piece = copier->pieces[i];
        follow_words(copier, &piece);
    }
    if (copier->met && copier->any_cut)
        return HELD_CUT; // what hangs on the shared memory was not followed from here
    if (!copier->cut)
        return HELD_WHOLE;
    return i > object_end ? HELD_CUT_BEYOND : HELD_CUT;
}

static void copy_watch(struct copier *copier, const struct watch_slot *slot)
{
    size_t first = copier->count;
    copier->left = bytes_limit(copier->capture);
    copier->cut = false;
    copier->met = is_copied(copier, slot->address);
    if (!copier->met)
        copy_watched(copier, slot->address, slot->size);
    if (copier->count == first && !copier->met)
        capture_problem(copier->capture, "watch", "its object cannot be read",
                        slot->address);
    const struct held_watch watch = { .name = slot->name,
                                      .type = slot->type,
                                      .address = slot->address,
                                      .size = slot->size,
                                      .caller = slot->caller,
                                      .cut = follow_watched_pointers(copier, first) };
    copier->any_cut = copier->any_cut || watch.cut != HELD_WHOLE;
    held_file_add_watch(copier->out, &watch);
}

// copy_table_watches copies what the ready slots of a table tell of.
static void copy_table_watches(struct capture *capture, struct text *out,
                               struct watch_slot slots[static WATCH_COUNT])
{
    struct copier copier = { .capture = capture, .out = out };
    for (size_t i = 0; i < WATCH_COUNT; i++) {
        struct watch_slot *slot = &slots[i];
        uint32_t state = slot->state & WATCH_STATE_MASK;
        slot->name[WATCH_NAME_SIZE - 1] = 0;
        slot->type[WATCH_TYPE_SIZE - 1] = 0;
        if (state == WATCH_CHANGING)
            capture_problem(capture, "watch", "it was being changed", slot->address);
        if (state == WATCH_READY && slot->size > INT64_MAX)
            capture_problem(capture, "watch", "its size is impossible", slot->address);
        else if (state == WATCH_READY)
            copy_watch(&copier, slot);
    }
    free(copier.pieces);
}

// copy_table reads the table at address, unless it was never used: slots are taken from
// the first on, and the state of one that was used is never 0 again.
static void copy_table(struct capture *capture, uint64_t address, struct text *out)
{
    static struct watch_slot slots[WATCH_COUNT];
    uint32_t first = 0;
    enum ch_status status =
        memory_read(&capture->reader, address, &first, sizeof(first));
    if (status == CH_OK && first == 0)
        return;
    if (status == CH_OK)
        status = memory_read(&capture->reader, address, slots, sizeof(slots));
    if (status == CH_OK)
        copy_table_watches(capture, out, slots);
    else
        capture_problem(capture, "watch", "its table cannot be read", address);
}

void watch_copy(struct capture *capture, struct text *out)
{
    uint64_t address;
    size_t at = 0;
    if (capture->watches != 0) {
        copy_table(capture, capture->watches, out);
        return;
    }
    for (int i = 0; i < TABLES_MAX; i++) {
        if (!capture_next_place(capture, PLACE_WATCHES, WATCH_TABLE_BYTES, &at,
                                &address))
            return;
        copy_table(capture, address, out);
    }
}
