// SPDX-License-Identifier: Apache-2.0
#include "images/place_note.h"

#include <string.h>

#include "formats/debug/elf.h"

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
