// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/system/reachable.h"
#include "base/text.h"
#include "symbolizer/decompress_ahead.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/symbolization.h"
#include "symbolizer/symbolization_cached.h"
#include "symbolizer/symbolization_memo.h"
#include "symbolizer/wait_names.h"

#define CHILD_OUTPUT_MAX (256u << 20)

// RETRIES_MAX is the number of images that may crash a child before we give up.
enum { RETRIES_MAX = 8 };

struct guard {
    json_t *report;
    struct symbolization symbolization;
    volatile uint32_t *image_at_work; // shared with the child
    bool *refused;
    bool blamed;         // an image was refused
    int64_t deadline_ms; // of all attempts
};

// write_guarded_names sends the names of each place, in the order of places.
static enum ch_status write_guarded_names(const struct symbolization *symbolization,
                                          int to_parent)
{
    json_t *all = json_array();
    enum ch_status status = all != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    for (size_t i = 0; status == CH_OK && i < symbolization->lookup_count; i++)
        if (json_array_append(all, symbolization->lookups[i].names) != 0)
            status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = guarded_child_answer(all, to_parent);
    json_decref(all);
    return status;
}

// look_up_guarded is a guarded_child_fn.
static enum ch_status look_up_guarded(void *context, int to_parent)
{
    struct guard *guard = context;
    struct symbolization_watch watch = { .image_at_work = guard->image_at_work,
                                         .refused = guard->refused };
    enum ch_status status = symbolization_look_up(&guard->symbolization, &watch);
    return status == CH_OK ? write_guarded_names(&guard->symbolization, to_parent)
                           : status;
}

static bool is_names(const json_t *names)
{
    bool right = json_array_size(names) != 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        right = right && json_is_object(json_array_get(names, i));
    return right;
}

// take_names reads the child's result. Any other form is refused: a child that read a
// malicious file is not trusted.
static enum ch_status take_names(struct symbolization *symbolization,
                                 const struct text *result)
{
    json_t *all = guarded_child_read(result);
    bool right =
        json_is_array(all) && json_array_size(all) == symbolization->lookup_count;
    for (size_t i = 0; right && i < symbolization->lookup_count; i++)
        right = is_names(json_array_get(all, i));
    for (size_t i = 0; right && i < symbolization->lookup_count; i++)
        if (symbolization->lookups[i].names == NULL)
            symbolization->lookups[i].names = json_incref(json_array_get(all, i));
    json_decref(all);
    return right ? CH_OK : CH_ERR_MALFORMED;
}

static enum ch_status run_once(struct guard *guard)
{
    // Half of what is left, so that a child that hangs leaves time for another one
    // without its image.
    int64_t now = guarded_child_now_ms();
    struct text CH_CLEANUP(text_deinit) result = { .limit_bytes = CHILD_OUTPUT_MAX };
    *guard->image_at_work = REPORT_NO_IMAGE;
    enum ch_status status = guarded_child_run(
        look_up_guarded, guard, now + (guard->deadline_ms - now) / 2, &result);
    return status == CH_OK ? take_names(&guard->symbolization, &result) : status;
}

// add_guarded_problem adds to the report what went wrong, in image if not
// REPORT_NO_IMAGE.
static void add_guarded_problem(const struct guard *guard, const char *status,
                                uint32_t image)
{
    json_t *problems = json_object_get(guard->report, "problems");
    if (!json_is_array(problems)) {
        problems = json_array();
        if (json_object_set_new(guard->report, "problems", problems) != 0)
            return;
    }
    json_t *problem = json_pack("{s:s, s:s}", "stage", "symbolize", "status", status);
    const struct report_images *images = &guard->symbolization.images;
    if (problem != NULL && image < images->count)
        (void)json_object_set_new(problem, "image",
                                  json_string(images->items[image].path));
    (void)json_array_append_new(problems, problem);
}

// run_retrying excludes one more image after each child that an image has crashed.
static enum ch_status run_retrying(struct guard *guard)
{
    enum ch_status status = CH_OK;
    uint32_t image = REPORT_NO_IMAGE;
    for (int i = 0; i < RETRIES_MAX; i++) {
        status = run_once(guard);
        image = *guard->image_at_work;
        bool blamed = status == CH_ERR_FAULT || status == CH_ERR_LIMIT ||
                      status == CH_ERR_NO_MEMORY;
        if (!blamed || image >= guard->symbolization.images.count ||
            guard->refused[image])
            break;
        guard->refused[image] = true;
        guard->blamed = true;
        add_guarded_problem(guard, ch_status_name(status), image);
    }
    if (status != CH_OK)
        add_guarded_problem(guard, ch_status_name(status), REPORT_NO_IMAGE);
    return status;
}

// guard_names looks up the places of guard's symbolization in children.
static enum ch_status guard_names(struct guard *guard)
{
    void *shared = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    guard->image_at_work = shared;
    guard->refused =
        calloc(guard->symbolization.images.count + 1, sizeof(guard->refused[0]));
    enum ch_status status =
        guard->refused != NULL ? run_retrying(guard) : CH_ERR_NO_MEMORY;
    free(guard->refused);
    munmap(shared, sizeof(uint32_t));
    return status;
}

// find_names finds the names that no memo has, from caches alone if they have all.
static enum ch_status find_names(struct guard *guard)
{
    const struct symbolizer_options *options = guard->symbolization.options;
    struct guarded_child ahead;
    enum ch_status status = CH_OK;
    bool begun =
        decompress_ahead_begin(&guard->symbolization, guard->deadline_ms, &ahead);
    if (!options->single || !symbolization_look_up_cached(&guard->symbolization)) {
        status = guard_names(guard);
        if (options->memo != NULL)
            options->memo->file_readers++;
    }
    if (begun)
        decompress_ahead_end(&ahead, guard->deadline_ms);
    // Each report says which images could not be read, so their places are looked up
    // for each.
    if (status == CH_OK && !guard->blamed)
        symbolization_keep(&guard->symbolization);
    return status;
}

// check_image_places finds out which images are on file systems that do not answer,
// once for all children.
static void check_image_places(const struct guard *guard)
{
    const struct report_images *images = &guard->symbolization.images;
    for (uint32_t i = 0; i < images->count; i++) {
        char buffers[2][PATH_MAX];
        if (!reachable_check(symbolizer_options_path(guard->symbolization.options,
                                                     images->items[i].path, buffers)))
            add_guarded_problem(guard, "its file system does not answer", i);
    }
}

enum ch_status symbolizer_report_guarded(json_t *report,
                                         const struct symbolizer_options *options)
{
    if (options->level == SYMBOLIZE_OFF)
        return CH_OK;
    uint32_t timeout_ms =
        options->timeout_ms != 0 ? options->timeout_ms : SYMBOLIZER_TIMEOUT_MS;
    struct guard guard = { .report = report,
                           .deadline_ms = guarded_child_now_ms() + timeout_ms };
    diagnosis_begin(report);
    enum ch_status status = symbolization_init(&guard.symbolization, report, options);
    if (status == CH_OK)
        check_image_places(&guard);
    if (status == CH_OK && !symbolization_recall(&guard.symbolization))
        status = find_names(&guard);
    if (status == CH_OK)
        status = symbolization_write(&guard.symbolization, report);
    if (status == CH_OK)
        wait_names_add(report, options);
    if (status == CH_OK)
        diagnosis_refine(report);
    symbolization_deinit(&guard.symbolization);
    return status;
}
