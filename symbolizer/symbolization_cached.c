// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/symbolization_cached.h"

#include <setjmp.h>
#include <signal.h>

#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/frame_names.h"

static sigjmp_buf page_fault;
static _Thread_local volatile sig_atomic_t looking_up;

// leave_page leaves the lookups; the fault of a thread that makes none ends the
// process.
static void leave_page(int number)
{
    if (looking_up)
        siglongjmp(page_fault, number);
    (void)signal(number, SIG_DFL);
}

static enum ch_status name_cached_place(struct symbol_cache *cache,
                                        struct symbolization_lookup *lookup,
                                        const struct frame_image *image)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = 0;
    uint64_t vaddr = lookup->place.offset + cache->base;
    enum ch_status status = symbol_cache_find(cache, vaddr, frames, &count);
    return status == CH_OK ? frame_names_make(frames, count, vaddr + lookup->after_call,
                                              image, &lookup->names)
                           : status;
}

// forget_names makes places be looked up again.
static void forget_names(struct symbolization_lookup *lookups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(lookups[i].names);
        lookups[i].names = NULL;
    }
}

// name_cached_image looks up the places of one image, all or none.
static void name_cached_image(struct symbolization *symbolization,
                              struct symbolization_lookup *lookups, size_t count)
{
    const struct symbolizer_options *options = symbolization->options;
    const struct report_image *from =
        &symbolization->images.items[lookups->place.image];
    const struct frame_image image = { .path = from->path,
                                       .status = DEBUG_FOUND,
                                       .home =
                                           options->sanitize ? options->home : NULL };
    struct symbol_cache *cache = &symbolization->cache;
    if (symbol_cache_folder_find(cache, options->cache_folder, &from->id) != CH_OK)
        return;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = name_cached_place(cache, &lookups[i], &image);
    if (status != CH_OK)
        forget_names(lookups, count); // the child removes a damaged cache
    symbol_cache_deinit(cache);
}

// name_outside handles places that are in no image.
static void name_outside(struct symbolization_lookup *lookups, size_t count)
{
    const struct frame_image none = { .path = "", .status = DEBUG_NO_IMAGE };
    for (size_t i = 0; i < count; i++)
        if (frame_names_make(NULL, 0, lookups[i].place.offset + lookups[i].after_call,
                             &none, &lookups[i].names) != CH_OK)
            lookups[i].names = NULL;
}

static void look_up_cached(struct symbolization *symbolization)
{
    size_t begin = 0;
    for (size_t i = 1; i <= symbolization->lookup_count; i++) {
        struct symbolization_lookup *first = &symbolization->lookups[begin];
        uint32_t index = first->place.image;
        if (i < symbolization->lookup_count &&
            symbolization->lookups[i].place.image == index)
            continue;
        if (index >= symbolization->images.count)
            name_outside(first, i - begin);
        else if (symbolization->images.items[index].id.size != 0 &&
                 first->names == NULL)
            name_cached_image(symbolization, first, i - begin);
        begin = i;
    }
}

bool symbolization_look_up_cached(struct symbolization *symbolization)
{
    const struct sigaction ours = { .sa_handler = leave_page };
    struct sigaction before;
    if (symbolization->options->cache_folder == NULL ||
        symbolization->options->level != SYMBOLIZE_FULL ||
        sigaction(SIGBUS, &ours, &before) != 0)
        return false;
    looking_up = 1;
    if (sigsetjmp(page_fault, 1) == 0)
        look_up_cached(symbolization);
    else
        symbol_cache_deinit(&symbolization->cache); // it was left open
    looking_up = 0;
    (void)sigaction(SIGBUS, &before, NULL);
    bool all = true;
    for (size_t i = 0; i < symbolization->lookup_count; i++)
        all = all && symbolization->lookups[i].names != NULL;
    return all;
}
