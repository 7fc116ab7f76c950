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
    pointers->stack = NULL;
    pointers->stack_from = 0;
    pointers->last = NULL;
    pointers->left = HELD_POINTERS_MAX;
    pointers->count = 0;
}

void held_pointers_set_stack(struct held_pointers *pointers,
                             const struct target_mapping *stack, uint64_t from)
{
    pointers->stack = stack;
    pointers->stack_from = from;
}

static bool pointers_is_in(const struct target_mapping *mapping, uint64_t address)
{
    return mapping != NULL && address - mapping->start < mapping->end - mapping->start;
}

void held_pointers_note(struct held_pointers *pointers, uint64_t word)
{
    if (word < LOWEST_POINTER || word >= HIGHEST_POINTER ||
        pointers->count == HELD_POINTERS_COUNT ||
        (word >= pointers->stack_from && pointers_is_in(pointers->stack, word)))
        return;
    const struct target_mapping *mapping = pointers->last;
    if (!pointers_is_in(mapping, word))
        mapping = images_mapping(&pointers->capture->images, word);
    if (mapping == NULL)
        return;
    pointers->last = mapping;
    if (mapping->permissions & MAPS_READ && !(mapping->permissions & MAPS_EXECUTE))
        pointers->found[pointers->count++] = word;
}

void held_pointers_search(struct held_pointers *pointers, const void *bytes,
                          size_t size)
{
    const uint8_t *from = bytes;
    uint64_t word;
    for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
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
    uint8_t bytes[HELD_POINTERS_BYTES];
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

void held_pointers_copy(struct held_pointers *pointers)
{
    enum { FETCHED = 32 };
    uint64_t copied = 0; // everything up to here
    qsort(pointers->found, pointers->count, sizeof(pointers->found[0]),
          compare_pointers);
    for (size_t i = 0; i < pointers->count; i++) {
        size_t left = pointers->count - i;
        if (i % FETCHED == 0)
            memory_fetch(&pointers->capture->reader, &pointers->found[i],
                         left < FETCHED ? left : FETCHED);
        uint64_t end = pointers->found[i] + HELD_POINTERS_BYTES;
        uint64_t begin = pointers->found[i] > copied ? pointers->found[i] : copied;
        if (begin < end)
            copy_pointed(pointers, begin, end);
        copied = end;
    }
    pointers->count = 0;
}
