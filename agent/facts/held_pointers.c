// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_pointers.h"

#include <stdlib.h>
#include <string.h>

#include "formats/debug/maps.h"
#include "report/file/held_file.h"

// Addresses of programs on 64-bit machines: nothing is mapped below, or above.
#define LOWEST_POINTER UINT64_C(0x1000)
#define HIGHEST_POINTER UINT64_C(0x0001000000000000)

void held_pointers_init(struct held_pointers *pointers, const struct capture *capture)
{
    pointers->capture = capture;
    pointers->stack_from = 0;
    pointers->stack_to = 0;
    pointers->last = NULL;
    pointers->left = HELD_POINTERS_MAX;
    pointers->count = 0;
    pointers->root_count = 0;
    pointers->window_end = HELD_ROOTS; // registers
    if (pointers->visited_count != 0)  // untouched pages stay so
        memset(pointers->visited, 0, sizeof(pointers->visited));
    pointers->visited_count = 0;
}

void held_pointers_set_stack(struct held_pointers *pointers, uint64_t from, uint64_t to)
{
    pointers->stack_from = from;
    pointers->stack_to = to;
}

uint64_t held_chunk_bytes(const struct memory_reader *reader, uint64_t address)
{
    enum { IN_USE = 1, FLAGS = 7, ALIGNMENT = 16, SMALLEST = 32, LARGEST = 1 << 24 };
    uint64_t head;
    if (address % ALIGNMENT != 0 ||
        memory_read_word(reader, address - sizeof(head), &head) != CH_OK ||
        !(head & IN_USE))
        return 0;
    uint64_t size = head & ~(uint64_t)FLAGS;
    if (size < SMALLEST || size % ALIGNMENT != 0 || size > LARGEST)
        return 0;
    return size - sizeof(head);
}

// pointers_mapping is the mapping of data that word points into, and that is not copied
// anyway; NULL: there is none.
static const struct target_mapping *pointers_mapping(struct held_pointers *pointers,
                                                     uint64_t word)
{
    if (word < LOWEST_POINTER || word >= HIGHEST_POINTER ||
        (word >= pointers->stack_from && word < pointers->stack_to))
        return NULL;
    const struct target_mapping *mapping = pointers->last;
    if (mapping == NULL || word - mapping->start >= mapping->end - mapping->start)
        mapping = images_mapping(&pointers->capture->images, word);
    if (mapping == NULL)
        return NULL;
    pointers->last = mapping;
    return mapping->permissions & MAPS_READ && !(mapping->permissions & MAPS_EXECUTE)
               ? mapping
               : NULL;
}

// pointers_visit notes that the object at address is copied. False: it was noted
// before, or there are enough.
static bool pointers_visit(struct held_pointers *pointers, uint64_t address)
{
    enum { SLOTS = sizeof(pointers->visited) / sizeof(pointers->visited[0]) };
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
    while (pointers->visited[at] != 0 && pointers->visited[at] != address)
        at = (at + 1) % SLOTS;
    if (pointers->visited[at] == address ||
        pointers->visited_count == HELD_DEEP_OBJECTS)
        return false;
    pointers->visited[at] = address;
    pointers->visited_count++;
    return true;
}

// pointers_may_lead_on returns true if word, which points into the mapping, points to
// what may have pointers of the program: to memory that it can change and that is of no
// file.
static bool pointers_may_lead_on(const struct target_mapping *mapping, uint64_t word)
{
    return mapping->permissions & MAPS_WRITE && mapping->inode == 0 &&
           word % sizeof(word) == 0;
}

void held_pointers_note(struct held_pointers *pointers, uint64_t word)
{
    const struct target_mapping *mapping =
        pointers->count < HELD_POINTERS_COUNT ? pointers_mapping(pointers, word) : NULL;
    if (mapping == NULL)
        return;
    pointers->found[pointers->count++] = word;
    if (pointers->root_count < HELD_ROOTS &&
        pointers->root_count < pointers->window_end &&
        pointers_may_lead_on(mapping, word) && pointers_visit(pointers, word))
        pointers->roots[pointers->root_count++] = word;
}

void held_pointers_search(struct held_pointers *pointers, const void *bytes,
                          size_t size)
{
    const uint8_t *from = bytes;
    uint64_t word;
    for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
        if (at % HELD_ROOT_WINDOW == 0)
            pointers->window_end = pointers->root_count + HELD_WINDOW_ROOTS;
        memcpy(&word, from + at, sizeof(word));
        held_pointers_note(pointers, word);
    }
}

static int compare_pointers(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;
    return (*one > *other) - (*one < *other);
}

// copy_pointed appends the bytes from address to end, as far as they can be read and
// the limit allows.
static void copy_pointed(struct held_pointers *pointers, uint64_t address, uint64_t end)
{
    uint8_t bytes[HELD_POINTERS_BEFORE + HELD_POINTERS_BYTES];
    const struct memory_reader *reader = &pointers->capture->reader;
    while (address < end && pointers->left > 0) {
        size_t wanted = (size_t)(end - address);
        wanted = wanted < pointers->left ? wanted : pointers->left;
        size_t got = reader->read(reader->source, address, bytes, wanted);
        if (got == 0 || got > wanted)
            return;
        held_file_add_memory(pointers->capture->held, address, bytes, got);
        pointers->left -= got;
        address += got;
    }
}

// A held_walk is the objects that the roots lead to: first all that are one link away,
// then all that are two.
struct held_walk {
    struct held_object {
        uint64_t address;
        size_t root;
    } objects[HELD_DEEP_OBJECTS];
    size_t count;
    uint8_t of_root[HELD_ROOTS]; // objects that each root has led to
};

// walk_add adds what word points to, if it may lead on.
static void walk_add(struct held_pointers *pointers, struct held_walk *walk,
                     uint64_t word, size_t root)
{
    const struct target_mapping *mapping = walk->of_root[root] < HELD_ROOT_OBJECTS
                                               ? pointers_mapping(pointers, word)
                                               : NULL;
    if (mapping == NULL || !pointers_may_lead_on(mapping, word) ||
        !pointers_visit(pointers, word))
        return;
    walk->of_root[root]++;
    walk->objects[walk->count++] = (struct held_object){ word, root };
}

// walk_copy copies an object, and adds what it points to.
static void walk_copy(struct held_pointers *pointers, struct held_walk *walk,
                      struct held_object object)
{
    uint64_t words[HELD_OBJECT_BYTES / sizeof(uint64_t)];
    const struct memory_reader *reader = &pointers->capture->reader;
    uint64_t size = held_chunk_bytes(reader, object.address);
    if (size == 0) { // it is within one, and what describes it may be before it
        size = HELD_UNKNOWN_BYTES;
        object.address -= HELD_BEFORE_BYTES;
    }
    size = size < sizeof(words) ? size : sizeof(words);
    size = size < pointers->left ? size : pointers->left;
    size_t got = memory_read_part(reader, object.address, words, (size_t)size);
    if (got == 0)
        return;
    held_file_add_memory(pointers->capture->held, object.address, words, got);
    pointers->left -= got;
    size_t before = walk->count;
    for (size_t i = 0;
         i < got / sizeof(words[0]) && walk->count - before < HELD_OBJECT_POINTERS; i++)
        walk_add(pointers, walk, words[i], object.root);
}

// copy_from_roots copies what the roots lead to. What is at one distance is fetched
// together.
static void copy_from_roots(struct held_pointers *pointers)
{
    struct held_walk walk = { .count = 0 };
    uint64_t sorted[HELD_DEEP_OBJECTS];
    for (size_t i = 0; i < pointers->root_count; i++) {
        walk.of_root[i]++;
        walk.objects[walk.count++] = (struct held_object){ pointers->roots[i], i };
    }
    for (size_t at = 0; at < walk.count;) {
        size_t count = walk.count - at;
        for (size_t i = 0; i < count; i++)
            sorted[i] = walk.objects[at + i].address;
        qsort(sorted, count, sizeof(sorted[0]), compare_pointers);
        memory_fetch(&pointers->capture->reader, sorted, count);
        for (size_t i = 0; i < count; i++)
            walk_copy(pointers, &walk, walk.objects[at++]);
    }
}

void held_pointers_copy(struct held_pointers *pointers)
{
    enum { FETCHED = 32, PAGE_BYTES = 4096 };
    uint64_t copied = 0; // everything up to here
    qsort(pointers->found, pointers->count, sizeof(pointers->found[0]),
          compare_pointers);
    for (size_t i = 0; i < pointers->count; i++) {
        size_t left = pointers->count - i;
        if (i % FETCHED == 0)
            memory_fetch(&pointers->capture->reader, &pointers->found[i],
                         left < FETCHED ? left : FETCHED);
        uint64_t end = pointers->found[i] + HELD_POINTERS_BYTES;
        uint64_t begin = pointers->found[i];
        uint64_t in_page = begin % PAGE_BYTES;
        begin -= in_page < HELD_POINTERS_BEFORE ? in_page : HELD_POINTERS_BEFORE;
        begin = begin > copied ? begin : copied;
        if (begin < end)
            copy_pointed(pointers, begin, end);
        copied = end;
    }
    copy_from_roots(pointers);
    pointers->count = 0;
    pointers->root_count = 0;
}
