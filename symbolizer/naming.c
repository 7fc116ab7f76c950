// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/naming.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/file/report_tree.h"
#include "report/grouping/report_own.h"
#include "symbolizer/flight_names.h"
#include "symbolizer/names/frame_names.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/naming_memo.h"
#include "symbolizer/report_frames.h"
#include "symbolizer/search/image_package.h"

void naming_deinit(struct naming *naming)
{
    for (size_t i = 0; i < naming->backtrace_count; i++)
        json_decref(naming->backtraces[i].frames);
    for (size_t i = 0; i < naming->lookup_count; i++)
        json_decref(naming->lookups[i].names);
    for (size_t i = 0; i < naming->frame_count; i++) {
        json_decref(naming->frames[i].bare);
        json_decref(naming->frames[i].named);
    }
    free(naming->lookups);
    free(naming->frames);
    free(naming->backtraces);
    report_images_deinit(&naming->images);
}

static bool frame_is_return_address(const json_t *frame)
{
    const char *kind = json_string_value(json_object_get(frame, "kind"));
    return kind != NULL && strcmp(kind, "ra") == 0;
}

static int by_named_place(const void *left, const void *right)
{
    const struct naming_lookup *a = left;
    const struct naming_lookup *b = right;
    if (a->place.image != b->place.image)
        return a->place.image < b->place.image ? -1 : 1;
    if (a->place.offset != b->place.offset)
        return a->place.offset < b->place.offset ? -1 : 1;
    return (int)a->after_call - (int)b->after_call;
}

static enum ch_status collect_frame(struct naming *naming, const json_t *frame)
{
    struct naming_lookup lookup = { .after_call = frame_is_return_address(frame) };
    if (report_frame_place(frame, &lookup.place) != CH_OK)
        return CH_OK;
    if (!array_reserve(&naming->lookups, &naming->lookup_capacity, naming->lookup_count,
                       sizeof(lookup)))
        return CH_ERR_NO_MEMORY;
    naming->lookups[naming->lookup_count++] = lookup;
    return CH_OK;
}

static int by_pointer(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)left;
    uintptr_t b = (uintptr_t)right;
    return a < b ? -1 : a > b;
}

static int by_backtrace(const void *left, const void *right)
{
    const struct naming_backtrace *a = left;
    const struct naming_backtrace *b = right;
    return by_pointer(a->backtrace, b->backtrace);
}

static int by_frame(const void *left, const void *right)
{
    const struct naming_frame *a = left;
    const struct naming_frame *b = right;
    return by_pointer(a->frame, b->frame);
}

static enum ch_status list_backtrace(struct naming *naming, json_t *backtrace)
{
    if (!json_is_object(backtrace))
        return CH_OK;
    if (!array_reserve(&naming->backtraces, &naming->backtrace_capacity,
                       naming->backtrace_count, sizeof(naming->backtraces[0])))
        return CH_ERR_NO_MEMORY;
    naming->backtraces[naming->backtrace_count++] =
        (struct naming_backtrace){ .backtrace = backtrace };
    return CH_OK;
}

// list_backtraces lists each backtrace of the report once.
static enum ch_status list_backtraces(struct naming *naming, json_t *report)
{
    json_t *threads = json_object_get(report, "threads");
    json_t *exception = json_object_get(json_object_get(report, "crash"), "exception");
    enum ch_status status = list_backtrace(naming, flight_names_functions(report));
    if (status == CH_OK)
        status = list_backtrace(naming, json_object_get(exception, "backtrace"));
    const json_t *lists[] = { threads, json_object_get(report, "goroutines") };
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
        for (size_t i = 0; status == CH_OK && i < json_array_size(lists[k]); i++)
            status = list_backtrace(
                naming, json_object_get(json_array_get(lists[k], i), "backtrace"));
    if (status != CH_OK || naming->backtrace_count == 0)
        return status;
    qsort(naming->backtraces, naming->backtrace_count, sizeof(naming->backtraces[0]),
          by_backtrace);
    size_t kept = 1;
    for (size_t i = 1; i < naming->backtrace_count; i++)
        if (naming->backtraces[i].backtrace != naming->backtraces[kept - 1].backtrace)
            naming->backtraces[kept++] = naming->backtraces[i];
    naming->backtrace_count = kept;
    return CH_OK;
}

static enum ch_status list_frames_of(struct naming *naming, struct naming_backtrace *at)
{
    enum ch_status status = report_frames_of(at->backtrace, &at->frames);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK; // a thread that could not be unwound
    for (size_t i = 0; status == CH_OK && i < json_array_size(at->frames); i++) {
        if (!array_reserve(&naming->frames, &naming->frame_capacity,
                           naming->frame_count, sizeof(naming->frames[0])))
            return CH_ERR_NO_MEMORY;
        naming->frames[naming->frame_count++] =
            (struct naming_frame){ .frame = json_array_get(at->frames, i) };
    }
    return status;
}

// list_frames lists each frame of all backtraces once.
static enum ch_status list_frames(struct naming *naming)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < naming->backtrace_count; i++)
        status = list_frames_of(naming, &naming->backtraces[i]);
    if (status != CH_OK || naming->frame_count == 0)
        return status;
    qsort(naming->frames, naming->frame_count, sizeof(naming->frames[0]), by_frame);
    size_t kept = 1;
    for (size_t i = 1; i < naming->frame_count; i++)
        if (naming->frames[i].frame != naming->frames[kept - 1].frame)
            naming->frames[kept++] = naming->frames[i];
    naming->frame_count = kept;
    return CH_OK;
}

static enum ch_status collect_named(struct naming *naming, json_t *report)
{
    enum ch_status status = list_backtraces(naming, report);
    if (status == CH_OK)
        status = list_frames(naming);
    for (size_t i = 0; status == CH_OK && i < naming->frame_count; i++) {
        struct naming_frame *frame = &naming->frames[i];
        status = report_frame_prepare(frame->frame, &naming->images, &frame->bare);
        if (status == CH_OK)
            status = collect_frame(naming, frame->bare);
        else if (status == CH_ERR_NOT_FOUND)
            status = CH_OK;
    }
    return status;
}

enum ch_status naming_init(struct naming *naming, json_t *report,
                           const struct symbolizer_options *options)
{
    *naming = (struct naming){ .options = options };
    if (!json_is_object(report) || !json_is_array(json_object_get(report, "threads")))
        return CH_ERR_MALFORMED;
    enum ch_status status = report_images_read(&naming->images, report);
    if (status == CH_OK)
        status = collect_named(naming, report);
    if (status != CH_OK || naming->lookup_count == 0)
        return status;
    qsort(naming->lookups, naming->lookup_count, sizeof(naming->lookups[0]),
          by_named_place);
    size_t kept = 1;
    for (size_t i = 1; i < naming->lookup_count; i++)
        if (by_named_place(&naming->lookups[i], &naming->lookups[kept - 1]) != 0)
            naming->lookups[kept++] = naming->lookups[i];
    naming->lookup_count = kept;
    return CH_OK;
}

static enum ch_status name_lookup(struct symbol_image *image,
                                  struct naming_lookup *lookup,
                                  const struct frame_image *common)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct frame_image of = *common;
    size_t count = 0;
    uint64_t vaddr = lookup->place.offset;
    if (image != NULL) {
        vaddr += symbol_image_base(image);
        count = symbol_image_find(image, vaddr, frames);
    }
    bool named = count != 0 && frames[count - 1].function != NULL;
    if (image != NULL && !named)
        of.status = symbol_image_why(image, vaddr);
    return frame_names_make(frames, count, vaddr + lookup->after_call, &of,
                            &lookup->names);
}

static enum ch_status name_all_places(const struct naming *naming,
                                      struct symbol_image *image,
                                      struct naming_lookup *lookups, size_t count)
{
    struct frame_image common = { .path = "", .status = DEBUG_NO_IMAGE };
    if (lookups->place.image < naming->images.count) {
        common.path = naming->images.items[lookups->place.image].path;
        common.status = DEBUG_DAMAGED;
    }
    if (naming->options->sanitize)
        common.home = naming->options->home;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = name_lookup(image, &lookups[i], &common);
    return status;
}

// name_image_places looks up all places of one image, which is open only meanwhile.
static enum ch_status name_image_places(const struct naming *naming,
                                        struct naming_lookup *lookups, size_t count)
{
    uint32_t index = lookups->place.image;
    if (index >= naming->images.count ||
        (naming->watch != NULL && naming->watch->refused[index]))
        return name_all_places(naming, NULL, lookups, count);
    if (naming->watch != NULL)
        *naming->watch->image_at_work = index;

    const struct symbolizer_options *options = naming->options;
    const struct report_image *from = &naming->images.items[index];
    struct debug_search search = symbolizer_options_search(options);
    char buffers[2][PATH_MAX];
    struct symbol_image *image;
    enum ch_status status =
        symbol_image_open(&image, symbolizer_options_path(options, from->path, buffers),
                          &from->id, &search, options->level == SYMBOLIZE_FAST);
    if (status != CH_OK)
        return status;
    status = name_all_places(naming, image, lookups, count);
    symbol_image_close(image);
    if (naming->watch != NULL)
        *naming->watch->image_at_work = REPORT_NO_IMAGE;
    return status;
}

enum ch_status naming_look_up(struct naming *naming, const struct naming_watch *watch)
{
    size_t begin = 0;
    naming->watch = watch;
    for (size_t i = 1; i <= naming->lookup_count; i++) {
        struct naming_lookup *first = &naming->lookups[begin];
        if (i < naming->lookup_count &&
            naming->lookups[i].place.image == first->place.image)
            continue;
        // The places of an image have names all or none.
        enum ch_status status =
            first->names == NULL ? name_image_places(naming, first, i - begin) : CH_OK;
        if (status != CH_OK)
            return status;
        begin = i;
    }
    return CH_OK;
}

// place_key has room for a number in base 16 and what frame it is.
struct place_key {
    char text[24];
};

static struct place_key key_of_place(const struct naming_lookup *lookup)
{
    struct place_key key;
    (void)snprintf(key.text, sizeof(key.text), "%llx%s",
                   (unsigned long long)lookup->place.offset,
                   lookup->after_call ? "r" : "");
    return key;
}

static json_t *remembered_image(const struct naming *naming, uint32_t index)
{
    return naming_memo_image(naming->options->memo, index < naming->images.count
                                                        ? &naming->images.items[index]
                                                        : NULL);
}

// recall_image names all of count places of one image, or none.
static bool recall_image(const struct naming *naming, struct naming_lookup *lookups,
                         size_t count)
{
    const json_t *places =
        json_object_get(remembered_image(naming, lookups->place.image), "places");
    for (size_t i = 0; i < count; i++)
        if (json_object_get(places, key_of_place(&lookups[i]).text) == NULL)
            return false;
    for (size_t i = 0; i < count; i++)
        lookups[i].names =
            json_incref(json_object_get(places, key_of_place(&lookups[i]).text));
    return true;
}

bool naming_recall(struct naming *naming)
{
    size_t begin = 0;
    bool all = true;
    for (size_t i = 1; i <= naming->lookup_count; i++) {
        struct naming_lookup *first = &naming->lookups[begin];
        if (i < naming->lookup_count &&
            naming->lookups[i].place.image == first->place.image)
            continue;
        all = recall_image(naming, first, i - begin) && all;
        begin = i;
    }
    return all;
}

void naming_keep(const struct naming *naming)
{
    for (size_t i = 0; i < naming->lookup_count; i++) {
        const struct naming_lookup *lookup = &naming->lookups[i];
        json_t *places =
            json_object_get(remembered_image(naming, lookup->place.image), "places");
        if (places != NULL && lookup->names != NULL)
            (void)json_object_set(places, key_of_place(lookup).text, lookup->names);
    }
    if (naming->options->memo != NULL)
        naming_memo_count(naming->options->memo, naming->lookup_count);
}

void naming_write_caches(struct naming *naming)
{
    struct debug_search search = symbolizer_options_search(naming->options);
    uint32_t before = REPORT_NO_IMAGE;
    for (size_t i = 0; i < naming->lookup_count; i++) {
        uint32_t index = naming->lookups[i].place.image;
        if (index >= naming->images.count || index == before)
            continue;
        char buffers[2][PATH_MAX];
        const struct report_image *image = &naming->images.items[index];
        const char *path =
            symbolizer_options_path(naming->options, image->path, buffers);
        // An image that cannot be cached is no failure: its names come from the files.
        if (image->id.size != 0)
            (void)!image_cache_write_names(path, &image->id, &search);
        if (image->id.size != 0 && naming->options->arguments)
            image_cache_write_plain(path, &image->id, &search);
        before = index;
    }
}

static const json_t *names_of(const struct naming *naming, const json_t *frame)
{
    struct naming_lookup key = { .after_call = frame_is_return_address(frame) };
    if (report_frame_place(frame, &key.place) != CH_OK)
        return NULL;
    const struct naming_lookup *found = bsearch(
        &key, naming->lookups, naming->lookup_count, sizeof(key), by_named_place);
    return found != NULL ? found->names : NULL;
}

// name_frame makes the frames that replace a frame: the calls inlined there, and
// itself.
static enum ch_status name_frame(const struct naming *naming, struct naming_frame *at)
{
    if (at->named != NULL || at->bare == NULL)
        return CH_OK;
    at->named = json_array();
    return frame_names_apply(names_of(naming, at->bare), at->bare, at->named);
}

// naming_append appends the frames that replace one frame of a backtrace.
static enum ch_status naming_append(const struct naming *naming, json_t *frame,
                                    json_t *named)
{
    const struct naming_frame key = { .frame = frame };
    struct naming_frame *at =
        bsearch(&key, naming->frames, naming->frame_count, sizeof(key), by_frame);
    if (at == NULL)
        return CH_OK;
    enum ch_status status = name_frame(naming, at);
    if (status == CH_OK && at->named != NULL &&
        json_array_extend(named, at->named) != 0)
        status = CH_ERR_NO_MEMORY;
    return status;
}

// naming_append_between appends the frames that replace one frame, and before the
// function itself those that an interpreter ran in it: frames [from, index) of the
// backtrace. Calls inlined into the function are further in than these.
static enum ch_status naming_append_between(const struct naming *naming, json_t *frames,
                                            size_t from, size_t index, json_t *named)
{
    json_t *frame = json_array_get(frames, index);
    enum ch_status status = CH_OK;
    // Files know nothing of code that was named when it was captured.
    if (report_string(frame, "source") == NULL)
        status = naming_append(naming, frame, named);
    else if (json_array_append(named, frame) != 0)
        status = CH_ERR_NO_MEMORY;
    size_t at = json_array_size(named);
    at -= at != 0;
    for (size_t i = from; status == CH_OK && i < index; i++)
        if (json_array_insert(named, at + (i - from), json_array_get(frames, i)) != 0)
            status = CH_ERR_NO_MEMORY;
    return status;
}

static enum ch_status write_place_names(const struct naming *naming,
                                        const struct naming_backtrace *at)
{
    json_t *named = json_array();
    enum ch_status status = named != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    size_t from = 0;
    for (size_t i = 0; status == CH_OK && i < json_array_size(at->frames); i++) {
        if (report_frame_is_interpreted(json_array_get(at->frames, i)))
            continue;
        while (from < i &&
               !report_frame_is_interpreted(json_array_get(at->frames, from)))
            from++;
        status = naming_append_between(naming, at->frames, from, i, named);
        from = i + 1;
    }
    if (status != CH_OK) {
        json_decref(named);
        return status;
    }
    return json_object_set_new(at->backtrace, "frames", named) == 0 ? CH_OK
                                                                    : CH_ERR_NO_MEMORY;
}

static json_t *read_package(const struct naming *naming, uint32_t index)
{
    char buffers[2][PATH_MAX];
    const struct report_image *image = &naming->images.items[index];
    return image_package_read(
        symbolizer_options_path(naming->options, image->path, buffers), &image->id);
}

// package_of gives the package of an image, which the caller owns, or NULL.
static json_t *package_of(const struct naming *naming, uint32_t index)
{
    json_t *image = remembered_image(naming, index);
    json_t *package = json_object_get(image, "package");
    if (package != NULL)
        return json_is_object(package) ? json_incref(package) : NULL;
    package = read_package(naming, index);
    (void)json_object_set_new(image, "package",
                              package != NULL ? json_incref(package) : json_null());
    return package;
}

// write_packages adds the packages of the images that have frames.
static void write_packages(const struct naming *naming, json_t *report)
{
    json_t *images = json_object_get(report, "images");
    uint32_t before = REPORT_NO_IMAGE;
    for (size_t i = 0; i < naming->lookup_count; i++) {
        uint32_t index = naming->lookups[i].place.image;
        json_t *image = json_array_get(images, index);
        if (index >= naming->images.count || index == before || image == NULL)
            continue;
        json_t *package = package_of(naming, index);
        if (package != NULL)
            (void)json_object_set_new(image, "package", package);
        before = index;
    }
}

enum ch_status naming_write(struct naming *naming, json_t *report)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < naming->backtrace_count; i++)
        if (naming->backtraces[i].frames != NULL)
            status = write_place_names(naming, &naming->backtraces[i]);
    if (status == CH_OK && naming->images.listed != NULL &&
        json_object_set(report, "images", naming->images.listed) != 0)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        write_packages(naming, report);
    if (status == CH_OK)
        status = flight_names_write(report);
    if (status == CH_OK &&
        json_object_set_new(report, "revision", json_integer(1)) != 0)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        report_own_mark(report);
    return status;
}
