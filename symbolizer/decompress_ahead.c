// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/decompress_ahead.h"

#include <stdlib.h>

#include "report/file/system_image.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/image_cache.h"

// ahead is what to decompress.
struct ahead {
    const struct symbolization *symbolization;
    bool *wanted; // by index of images
};

static uint32_t image_to_prepare(const struct symbolization *symbolization,
                                 const json_t *frame)
{
    struct report_place place;
    if (report_frame_place(frame, &place) != CH_OK ||
        place.image >= symbolization->images.count)
        return REPORT_NO_IMAGE;
    return place.image;
}

static bool decompressed_image_is_system(const struct symbolization *symbolization,
                                         const json_t *frame)
{
    uint32_t image = image_to_prepare(symbolization, frame);
    return image == REPORT_NO_IMAGE ||
           system_image(symbolization->images.items[image].path);
}

// mark_wanted marks the images of a stack except for its startup code: the outermost
// frame, where the program or thread began, and the system frames next to it.
static void mark_wanted(const struct ahead *ahead, const json_t *frames)
{
    size_t count = json_array_size(frames);
    size_t end = count > 1 ? count - 1 : count;
    while (end > 0 && decompressed_image_is_system(ahead->symbolization,
                                                   json_array_get(frames, end - 1)))
        end--;
    if (end == 0)
        end = count;
    for (size_t i = 0; i < end; i++) {
        uint32_t image =
            image_to_prepare(ahead->symbolization, json_array_get(frames, i));
        if (image != REPORT_NO_IMAGE)
            ahead->wanted[image] = true;
    }
}

// find_lacking marks the images of frames that have no cache yet, and says whether
// there are any: mostly there are none, and no stack has to be looked at.
static bool find_lacking(const struct symbolization *symbolization, bool *lacking)
{
    bool any = false;
    for (size_t i = 0; i < symbolization->lookup_count; i++) {
        uint32_t image = symbolization->lookups[i].place.image;
        bool again = i != 0 && symbolization->lookups[i - 1].place.image == image;
        if (again || image >= symbolization->images.count)
            continue;
        const struct build_id *id = &symbolization->images.items[image].id;
        lacking[image] = id->size != 0 && symbol_cache_folder_lacks(
                                              symbolization->options->cache_folder, id);
        any = any || lacking[image];
    }
    return any;
}

// mark_all marks what all stacks want and is lacking, and says whether there is any.
static bool mark_all(const struct ahead *ahead, const bool *lacking)
{
    const struct symbolization *symbolization = ahead->symbolization;
    bool any = false;
    for (size_t i = 0; i < symbolization->backtrace_count; i++)
        mark_wanted(ahead, symbolization->backtraces[i].frames);
    for (size_t i = 0; i < symbolization->images.count; i++) {
        ahead->wanted[i] = ahead->wanted[i] && lacking[i];
        any = any || ahead->wanted[i];
    }
    return any;
}

// write_plain_forms is a guarded_child_fn.
static enum ch_status write_plain_forms(void *context, int to_parent)
{
    const struct ahead *ahead = context;
    const struct symbolizer_options *options = ahead->symbolization->options;
    struct debug_search search = symbolizer_options_search(options);
    (void)to_parent;
    for (size_t i = 0; i < ahead->symbolization->images.count; i++) {
        char buffers[2][PATH_MAX];
        const struct report_image *image = &ahead->symbolization->images.items[i];
        if (ahead->wanted[i])
            image_cache_write_plain(
                symbolizer_options_path(options, image->path, buffers), &image->id,
                &search);
    }
    return CH_OK;
}

bool decompress_ahead_begin(struct symbolization *symbolization, int64_t deadline_ms,
                            struct guarded_child *out)
{
    struct ahead ahead = { .symbolization = symbolization };
    const size_t count = symbolization->images.count;
    if (!symbolization->options->arguments ||
        symbolization->options->cache_folder == NULL)
        return false;
    bool *marks = calloc(2 * count + 1, sizeof(marks[0]));
    if (marks == NULL)
        return false;
    ahead.wanted = marks + count;
    bool begun = find_lacking(symbolization, marks) && mark_all(&ahead, marks) &&
                 guarded_child_start_beside(write_plain_forms, &ahead, deadline_ms,
                                            out) == CH_OK;
    free(marks);
    return begun;
}

void decompress_ahead_end(struct guarded_child *child, int64_t deadline_ms)
{
    struct text CH_CLEANUP(text_deinit) nothing = { .limit_bytes = 1 };
    // Code that needs an image that was not finished decompresses it itself.
    (void)!guarded_child_finish(child, deadline_ms, &nothing);
}
