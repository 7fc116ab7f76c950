// SPDX-License-Identifier: Apache-2.0
//
// Symbolicates a backtrace: its addresses are sorted by image, each image is opened
// once, each address is looked up once; then every frame gets the symbols of its
// address.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/frame_list.h"
#include "backtrace/named.h"
#include "backtrace/symbol.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/symbol_image.h"

#define NO_IMAGE SIZE_MAX

// A place is one address and, once it was looked up, its symbols: first and count
// select them in named->symbols, innermost first.
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

static enum ch_status add_api_symbol(struct symbolization *symbolization,
                                     struct place *place,
                                     const struct symbol_frame *frame, uint64_t vaddr)
{
    struct crashhook_symbolicated_backtrace *named = symbolization->named;
    struct crashhook_symbol from = {
        .image = &named->images->items[place->image],
        .image_index = place->image,
        .raw_name = "<unknown>", // as in Swift
    };
    struct crashhook_symbol *symbol;
    if (frame != NULL && frame->function != NULL) {
        from.name = symbol_frame_public_name(frame->function);
        from.raw_name = frame->raw_name != NULL ? frame->raw_name : frame->function;
        from.offset = frame->inlined ? 0 : (int64_t)(vaddr - frame->start);
    }
    if (frame != NULL && symbolization->options & CRASHHOOK_SHOW_SOURCE_LOCATIONS &&
        frame->file != NULL)
        from.location = (struct crashhook_source_location){ frame->file, frame->line,
                                                            frame->column };
    enum ch_status status = symbol_create(&from, &symbol);
    if (status == CH_OK)
        status = named_add_symbol(named, symbol);
    if (status == CH_OK)
        place->count++;
    return status;
}

static enum ch_status name_stored_place(struct symbolization *symbolization,
                                        struct symbol_image *image, struct place *place)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    uint64_t base = symbolization->named->images->items[place->image].base;
    uint64_t vaddr = place->address - base + symbol_image_base(image);
    size_t count = symbol_image_find(image, vaddr, frames);
    uint64_t captured = vaddr + place->after_call;
    place->first = symbolization->named->symbol_count;
    if (count == 0)
        return add_api_symbol(symbolization, place, NULL, captured);
    size_t begin =
        symbolization->options & CRASHHOOK_SHOW_INLINE_FRAMES ? 0 : count - 1;
    enum ch_status status = CH_OK;
    for (size_t i = begin; status == CH_OK && i < count; i++)
        status = add_api_symbol(symbolization, place, &frames[i], captured);
    return status;
}

// name_symbolicated_image looks up count places of one image.
static enum ch_status name_symbolicated_image(struct symbolization *symbolization,
                                              struct place *places, size_t count)
{
    char folder[PATH_MAX];
    struct debug_search search = { .debuginfod_url = NULL };
    const unsigned lines =
        CRASHHOOK_SHOW_INLINE_FRAMES | CRASHHOOK_SHOW_SOURCE_LOCATIONS;
    struct symbol_image *image;
    if (places->image == NO_IMAGE)
        return CH_OK;
    const struct crashhook_image *from =
        &symbolization->named->images->items[places->image];
    struct build_id id = { .size = 0 };
    if (from->id_size <= sizeof(id.bytes)) {
        id.size = from->id_size;
        memcpy(id.bytes, from->id_size != 0 ? from->id : id.bytes, from->id_size);
    }
    if (symbolization->options & CRASHHOOK_USE_SYMBOL_CACHE)
        search.cache_folder = symbol_cache_folder_default(folder);
    enum ch_status status =
        symbol_image_open(&image, from->path != NULL ? from->path : "", &id, &search,
                          !(symbolization->options & lines));
    if (status != CH_OK)
        return status;
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = name_stored_place(symbolization, image, &places[i]);
    symbol_image_close(image);
    return status;
}

static enum ch_status name_stored_places(struct symbolization *symbolization)
{
    enum ch_status status = CH_OK;
    size_t begin = 0;
    for (size_t i = 1; status == CH_OK && i <= symbolization->place_count; i++) {
        if (i < symbolization->place_count &&
            symbolization->places[i].image == symbolization->places[begin].image)
            continue;
        status = name_symbolicated_image(symbolization, &symbolization->places[begin],
                                         i - begin);
        begin = i;
    }
    return status;
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
        frame.symbol = named->symbols[place->first + i];
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
        status = name_stored_places(symbolization);
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
