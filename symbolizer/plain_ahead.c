// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/plain_ahead.h"

#include <stdlib.h>

#include "report/file/system_image.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/image_cache.h"

// ahead is what to decompress.
struct ahead {
    const struct naming *naming;
    bool *wanted; // by index of images
};

static uint32_t image_to_prepare(const struct naming *naming, const json_t *frame)
{
    struct report_place place;
    if (report_frame_place(frame, &place) != CH_OK ||
        place.image >= naming->images.count)
        return REPORT_NO_IMAGE;
    return place.image;
}

static bool plain_image_is_system(const struct naming *naming, const json_t *frame)
{
    uint32_t image = image_to_prepare(naming, frame);
    return image == REPORT_NO_IMAGE || system_image(naming->images.items[image].path);
}

// mark_wanted marks the images of a stack except for its startup code: the outermost
// frame, where the program or thread began, and the system frames next to it.
static void mark_wanted(const struct ahead *ahead, const json_t *frames)
{
    size_t count = json_array_size(frames);
    size_t end = count > 1 ? count - 1 : count;
    while (end > 0 &&
           plain_image_is_system(ahead->naming, json_array_get(frames, end - 1)))
        end--;
    if (end == 0)
        end = count;
    for (size_t i = 0; i < end; i++) {
        uint32_t image = image_to_prepare(ahead->naming, json_array_get(frames, i));
        if (image != REPORT_NO_IMAGE)
            ahead->wanted[image] = true;
    }
}

// find_lacking marks the images of frames that have no cache yet, and says whether
// there are any: mostly there are none, and no stack has to be looked at.
static bool find_lacking(const struct naming *naming, bool *lacking)
{
    bool any = false;
    for (size_t i = 0; i < naming->lookup_count; i++) {
        uint32_t image = naming->lookups[i].place.image;
        bool again = i != 0 && naming->lookups[i - 1].place.image == image;
        if (again || image >= naming->images.count)
            continue;
        const struct build_id *id = &naming->images.items[image].id;
        lacking[image] = id->size != 0 &&
                         symbol_cache_folder_lacks(naming->options->cache_folder, id);
        any = any || lacking[image];
    }
    return any;
}

// mark_all marks what all stacks want and is lacking, and says whether there is any.
static bool mark_all(const struct ahead *ahead, const bool *lacking)
{
    const struct naming *naming = ahead->naming;
    bool any = false;
    for (size_t i = 0; i < naming->backtrace_count; i++)
        mark_wanted(ahead, naming->backtraces[i].frames);
    for (size_t i = 0; i < naming->images.count; i++) {
        ahead->wanted[i] = ahead->wanted[i] && lacking[i];
        any = any || ahead->wanted[i];
    }
    return any;
}

// write_plain_forms is a guarded_child_fn.
static enum ch_status write_plain_forms(void *context, int to_parent)
{
    const struct ahead *ahead = context;
    const struct symbolizer_options *options = ahead->naming->options;
    struct debug_search search = symbolizer_options_search(options);
    (void)to_parent;
    for (size_t i = 0; i < ahead->naming->images.count; i++) {
        char buffers[2][PATH_MAX];
        const struct report_image *image = &ahead->naming->images.items[i];
        if (ahead->wanted[i])
            image_cache_write_plain(
                symbolizer_options_path(options, image->path, buffers), &image->id,
                &search);
    }
    return CH_OK;
}

bool plain_ahead_begin(struct naming *naming, int64_t deadline_ms,
                       struct guarded_child *out)
{
    struct ahead ahead = { .naming = naming };
    const size_t count = naming->images.count;
    if (!naming->options->arguments || naming->options->cache_folder == NULL)
        return false;
    bool *marks = calloc(2 * count + 1, sizeof(marks[0]));
    if (marks == NULL)
        return false;
    ahead.wanted = marks + count;
    bool begun = find_lacking(naming, marks) && mark_all(&ahead, marks) &&
                 guarded_child_start_beside(write_plain_forms, &ahead, deadline_ms,
                                            out) == CH_OK;
    free(marks);
    return begun;
}

void plain_ahead_end(struct guarded_child *child, int64_t deadline_ms)
{
    struct text CH_CLEANUP(text_deinit) nothing = { .limit_bytes = 1 };
    // Code that needs an image that was not finished decompresses it itself.
    (void)!guarded_child_finish(child, deadline_ms, &nothing);
}
