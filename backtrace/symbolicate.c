// SPDX-License-Identifier: Apache-2.0
//
// Symbolicates a backtrace: each of its addresses is looked up once in the table of
// known names (backtrace/named_cache.h); then every frame gets the symbols of its
// address.
#include <stdlib.h>
#include <string.h>

#include "backtrace/frame_list.h"
#include "backtrace/named.h"
#include "backtrace/named_cache.h"

#define NO_IMAGE SIZE_MAX

// A place is one address and, once it was looked up, its symbols: first and count
// select them in named->copies, innermost first.
struct place {
    uint64_t address; // adjusted
    bool after_call;
    size_t image;
    size_t first;
    size_t count;
};

struct symbolization {
    struct crashhook_symbolicated_backtrace *named;
    unsigned options;
    struct crashhook_frame *frames;
    size_t frame_count;
    struct place *places; // by image and address
    size_t place_count;
};

static struct place place_of_frame(const struct symbolization *symbolization,
                                   const struct crashhook_frame *frame)
{
    struct crashhook_address address = crashhook_frame_adjusted_program_counter(frame);
    struct place place = { .address = address.bits,
                           .after_call = frame->kind == CRASHHOOK_FRAME_RETURN_ADDRESS,
                           .image = NO_IMAGE };
    if (crashhook_images_find(symbolization->named->images, address, &place.image) != 0)
        place.image = NO_IMAGE;
    return place;
}

static int by_frame_place(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (int)a->after_call - (int)b->after_call;
}

static enum ch_status list_places(struct symbolization *symbolization)
{
    symbolization->places =
        calloc(symbolization->frame_count + 1, sizeof(*symbolization->places));
    if (symbolization->places == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < symbolization->frame_count; i++) {
        if (symbolization->frames[i].kind < CRASHHOOK_FRAME_OMITTED)
            symbolization->places[symbolization->place_count++] =
                place_of_frame(symbolization, &symbolization->frames[i]);
    }
    qsort(symbolization->places, symbolization->place_count,
          sizeof(*symbolization->places), by_frame_place);
    size_t kept = symbolization->place_count != 0;
    for (size_t i = 1; i < symbolization->place_count; i++)
        if (by_frame_place(&symbolization->places[i],
                           &symbolization->places[kept - 1]) != 0)
            symbolization->places[kept++] = symbolization->places[i];
    symbolization->place_count = kept;
    return CH_OK;
}

// look_places_up looks all places up. named takes over the entries.
static enum ch_status look_places_up(struct symbolization *symbolization)
{
    struct crashhook_symbolicated_backtrace *named = symbolization->named;
    size_t symbols = 0;
    named->entries =
        calloc(symbolization->place_count + 1, sizeof(struct named_entry *));
    if (named->entries == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < symbolization->place_count; i++) {
        struct place *place = &symbolization->places[i];
        if (place->image == NO_IMAGE)
            continue;
        struct named_entry **entry = &named->entries[named->entry_count];
        enum ch_status status =
            named_cache_find(&named->images->items[place->image], place->address,
                             place->after_call, symbolization->options, entry);
        if (status != CH_OK)
            return status;
        named->entry_count++;
        place->first = symbols;
        place->count = (*entry)->count;
        symbols += place->count;
    }
    named->copies = calloc(symbols + 1, sizeof(*named->copies));
    return named->copies != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

// copy_symbols makes symbols of the entries that say in which image they are.
static void copy_symbols(struct symbolization *symbolization)
{
    struct crashhook_symbolicated_backtrace *named = symbolization->named;
    size_t used = 0;
    for (size_t i = 0; i < symbolization->place_count; i++) {
        const struct place *place = &symbolization->places[i];
        if (place->image == NO_IMAGE)
            continue;
        const struct named_entry *entry = named->entries[used++];
        for (size_t j = 0; j < entry->count; j++) {
            struct crashhook_symbol *symbol = &named->copies[place->first + j];
            *symbol = entry->symbols[j];
            symbol->image = &named->images->items[place->image];
            symbol->image_index = place->image;
        }
    }
}

static enum ch_status add_symbolicated_frames(struct symbolization *symbolization,
                                              const struct crashhook_frame *captured)
{
    struct crashhook_symbolicated_backtrace *named = symbolization->named;
    struct crashhook_symbolicated_frame frame = { .captured = *captured };
    const struct place key = place_of_frame(symbolization, captured);
    const struct place *place = NULL;
    if (captured->kind < CRASHHOOK_FRAME_OMITTED)
        place = bsearch(&key, symbolization->places, symbolization->place_count,
                        sizeof(key), by_frame_place);
    if (place == NULL || place->count == 0)
        return named_add_frame(named, &frame);
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < place->count; i++) {
        frame.symbol = &named->copies[place->first + i];
        frame.is_inline = i + 1 < place->count;
        status = named_add_frame(named, &frame);
    }
    return status;
}

static enum ch_status name_symbolicated(struct symbolization *symbolization)
{
    enum ch_status status =
        frame_list_decode(symbolization->named->backtrace, 0, &symbolization->frames,
                          &symbolization->frame_count);
    if (status == CH_OK)
        status = list_places(symbolization);
    if (status == CH_OK)
        status = look_places_up(symbolization);
    if (status == CH_OK)
        copy_symbols(symbolization);
    for (size_t i = 0; status == CH_OK && i < symbolization->frame_count; i++)
        status = add_symbolicated_frames(symbolization, &symbolization->frames[i]);
    return status;
}

static enum ch_status symbolicate_stored(const struct crashhook_backtrace *backtrace,
                                         struct crashhook_images *images,
                                         unsigned options,
                                         struct crashhook_symbolicated_backtrace **out)
{
    struct symbolization symbolization = { .options = options };
    enum ch_status status = named_create(backtrace, images, &symbolization.named);
    if (status != CH_OK)
        return status;
    status = name_symbolicated(&symbolization);
    free(symbolization.frames);
    free(symbolization.places);
    if (status != CH_OK) {
        crashhook_symbolicated_backtrace_destroy(symbolization.named);
        return status;
    }
    *out = symbolization.named;
    return CH_OK;
}

int crashhook_backtrace_symbolicate(const struct crashhook_backtrace *backtrace,
                                    struct crashhook_images *images, unsigned options,
                                    struct crashhook_symbolicated_backtrace **out)
{
    struct crashhook_images *captured = NULL;
    if (images == NULL)
        images = backtrace->images;
    if (images == NULL) {
        int error = crashhook_images_capture(&captured);
        if (error != 0)
            return error;
        images = captured;
    }
    enum ch_status status = symbolicate_stored(backtrace, images, options, out);
    crashhook_images_release(captured);
    return stored_errno(status);
}
