// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/symbolization_batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/system/file.h"
#include "collector/entry/entry_marks.h"
#include "collector/requests/opened_report.h"
#include "collector/symbols/place_names.h"
#include "collector/symbols/symbol_folder.h"
#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/symbolizer.h"

enum { SYMBOLIZATION_MS = 15000, NICENESS = 10 };

// batch_symbolization is a batch with what its reports have in common.
struct batch_symbolization {
    const struct symbolization_batch *batch;
    struct opened_report opened[SYMBOLIZATION_BATCH];
    json_t *wanted; // places of the batch that nobody named yet (place_names.h)
    size_t wanted_count;
    json_t *images;    // of each build of these an image
    json_t *named;     // these places with their names, by build key
    const char *owner; // whose debug files are used: the batch's project's, or ""
    char folder[SYMBOL_FOLDER_PATH_SIZE]; // of these
};

// note_images keeps an image of each build that places are wanted of.
static void note_images(struct batch_symbolization *symbolization, const json_t *report)
{
    const json_t *images = json_object_get(report, "images");
    for (size_t i = 0; i < json_array_size(images); i++) {
        json_t *image = json_array_get(images, i);
        const char *build = report_string(image, "build_id");
        if (build != NULL && json_object_get(symbolization->wanted, build) != NULL &&
            json_object_get(symbolization->images, build) == NULL)
            (void)json_object_set(symbolization->images, build, image);
    }
}

// is_named_now returns true if the owner's debug file of a build is the one for the
// batch: a project's own debug file has precedence over everybody's.
static bool is_named_now(const struct batch_symbolization *symbolization,
                         const char *build)
{
    char own[SYMBOL_FOLDER_PATH_SIZE];
    char shared[SYMBOL_FOLDER_PATH_SIZE];
    const struct symbolization_batch *batch = symbolization->batch;
    symbol_folder_of(batch->symbols, batch->project, own);
    symbol_folder_of(batch->symbols, "", shared);
    bool is_own = strcmp(symbolization->owner, batch->project) == 0;
    return symbol_folder_has_names(symbolization->folder, build) &&
           symbol_folder_precedes(own, shared, build) == is_own;
}

// place_image is an image of the report of places. Its path is the sender's word, and
// could lead to the files of another project.
static json_t *place_image(const struct batch_symbolization *symbolization,
                           json_t *image)
{
    json_t *copy = json_copy(image);
    if (symbolization->batch->project[0] != 0) {
        (void)json_object_del(copy, "path");
        (void)json_object_del(copy, "name");
    }
    return copy;
}

// place_report makes a report of the wanted places of builds whose debug files are
// here: each is a frame of its only thread, in the order of the tree.
static json_t *place_report(const struct batch_symbolization *symbolization)
{
    json_t *frames = json_array();
    json_t *images = json_array();
    const char *build;
    json_t *places;
    json_object_foreach(symbolization->wanted, build, places)
    {
        const char *place;
        json_t *frame;
        json_t *image = json_object_get(symbolization->images, build);
        if (image == NULL || !is_named_now(symbolization, build))
            continue;
        json_object_foreach(places, place, frame)
        {
            (void)json_array_append_new(
                frames,
                json_pack("{s:s, s:s, s:I, s:s}", "kind", report_string(frame, "kind"),
                          "address", report_string(frame, "address"), "image",
                          (json_int_t)json_array_size(images), "image_offset",
                          report_string(frame, "image_offset")));
        }
        (void)json_array_append_new(images, place_image(symbolization, image));
    }
    return json_pack("{s:s, s:s, s:i, s:s, s:[{s:i, s:{s:o}}], s:o}", "schema",
                     REPORT_SCHEMA_EXPANDED, "id",
                     "00000000-0000-7000-8000-000000000000", "revision", 0, "time",
                     "1970-01-01T00:00:00.000Z", "threads", "tid", 1, "backtrace",
                     "frames", frames, "images", images);
}

// batch_keep_name gives a place its frames. Without a name they are none.
static void batch_keep_name(struct batch_symbolization *symbolization,
                            const json_t *report, json_t *place)
{
    char key[PLACE_NAMES_SIZE];
    char build_key[STORE_BUILD_KEY_SIZE];
    const json_t *frame = json_array_get(place, json_array_size(place) - 1);
    const char *build = report_string(report_image(report, frame), "build_id");
    place_names_write_key(frame, key);
    if (report_string(json_array_get(place, 0), "function") == NULL)
        (void)json_array_clear(place);
    store_build_key(symbolization->owner, build, build_key);
    json_t *places = json_object_get(symbolization->named, build_key);
    if (places == NULL) {
        places = json_object();
        (void)json_object_set_new(symbolization->named, build_key, places);
    }
    (void)json_object_set(places, key, place);
}

// split_names gives each place its frames: the calls inlined there come before the
// place itself.
static void split_names(struct batch_symbolization *symbolization, const json_t *report)
{
    const json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
    const json_t *frames = report_frames(thread);
    json_t *place = json_array();
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        (void)json_array_append(place, frame);
        if (report_flag(frame, "inline"))
            continue;
        batch_keep_name(symbolization, report, place);
        json_decref(place);
        place = json_array();
    }
    json_decref(place);
}

// name_places looks up all wanted places of builds of which the owner's debug files are
// used, as the frames of one report. A project's file may not lead to others.
static void name_places(struct batch_symbolization *symbolization, const char *owner)
{
    char cache[SYMBOL_FOLDER_PATH_SIZE];
    const char *const folders[] = { symbolization->folder };
    symbolization->owner = owner;
    symbol_folder_of(symbolization->batch->symbols, owner, symbolization->folder);
    struct symbolizer_options options = {
        .level = SYMBOLIZE_FULL,
        .debug_dirs = folders,
        .debug_dir_count = 1,
        .alone = owner[0] != 0,
        .cache_folder = symbol_folder_cache(symbolization->folder, cache),
        .timeout_ms = SYMBOLIZATION_MS,
    };
    json_t *report = place_report(symbolization);
    if (json_array_size(json_object_get(report, "images")) != 0) {
        // This is a child with limits already.
        if (symbolizer_report(report, &options) == CH_OK)
            split_names(symbolization, report);
        symbolizer_cache_report(report, &options);
    }
    json_decref(report);
}

// apply_names puts names into the crashed thread, and what follows from them into the
// crash. It says whether there were any.
static bool apply_names(const struct batch_symbolization *symbolization, json_t *report)
{
    json_t *thread = report_crashed_thread(report);
    bool changed = place_names_apply(report, thread, symbolization->batch->known);
    if (changed)
        diagnosis_refine(report);
    return changed;
}

// write_places writes the places that were named here, before all answers.
static enum ch_status write_places(const struct batch_symbolization *symbolization,
                                   int to_parent)
{
    char *dumped = json_dumps(symbolization->named, JSON_COMPACT);
    if (dumped == NULL)
        return CH_ERR_NO_MEMORY;
    struct symbolization_head head = { .places_size = strlen(dumped) };
    if (head.places_size > SYMBOLIZATION_PLACES_BYTES)
        head.places_size = 0;
    bool written = file_write_all(to_parent, &head, sizeof(head)) &&
                   file_write_all(to_parent, dumped, head.places_size);
    free(dumped);
    return written ? CH_OK : CH_ERR_IO;
}

// know_named makes the entry of a report with the names that it got here. What it was
// when it was sent stays known: the key of version 1, a key that the sender chose, and
// which names it lacked, because a debug file may be replaced.
static enum ch_status know_named(json_t *report, int64_t received_ms,
                                 struct entry *entry)
{
    struct entry *sent = malloc(sizeof(*sent));
    if (sent == NULL)
        return CH_ERR_NO_MEMORY;
    *sent = *entry;
    (void)json_object_del(report, "fingerprint");
    enum ch_status status = entry_from_report(report, received_ms, entry);
    if (status == CH_OK && sent->chosen)
        memcpy(entry->group, sent->group, sizeof(entry->group));
    entry->chosen = sent->chosen;
    memcpy(entry->old_group, sent->old_group, sizeof(entry->old_group));
    memcpy(entry->nameless, sent->nameless, sizeof(entry->nameless));
    entry->nameless_count = sent->nameless_count;
    free(sent);
    return status;
}

static enum ch_status answer_for(struct batch_symbolization *symbolization,
                                 size_t index, struct symbolization_answer *answer,
                                 int to_parent)
{
    json_t *report = symbolization->opened[index].json;
    int64_t received_ms = symbolization->batch->items[index].received_ms;
    if (report == NULL)
        return CH_OK;
    memset(answer, 0, sizeof(*answer));
    answer->index = (uint32_t)index;
    if (entry_from_report(report, received_ms, &answer->entry) != CH_OK)
        return CH_OK;
    if (apply_names(symbolization, report) &&
        know_named(report, received_ms, &answer->entry) != CH_OK)
        return CH_OK;
    entry_marks_from_report(report, &answer->entry);
    return file_write_all(to_parent, answer, sizeof(*answer)) ? CH_OK : CH_ERR_IO;
}

static void open_batch(struct batch_symbolization *symbolization)
{
    // The parent holds its lock for a large report.
    pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    for (size_t i = 0; i < symbolization->batch->count; i++) {
        const struct symbolization_item *item = &symbolization->batch->items[i];
        struct store_body body = { .bytes = item->body.bytes,
                                   .size = item->body.size,
                                   .encoding = item->encoding };
        struct opened_report_error error;
        if (opened_report_open(&symbolization->opened[i], &body, &alone, &error) != 0) {
            symbolization->opened[i].json = NULL;
            continue;
        }
        if (symbolization->opened[i].large != NULL)
            pthread_mutex_unlock(symbolization->opened[i].large);
        place_names_want(symbolization->opened[i].json, symbolization->batch->known,
                         symbolization->wanted, &symbolization->wanted_count);
        note_images(symbolization, symbolization->opened[i].json);
    }
}

enum ch_status symbolization_batch_run(void *batch, int to_parent)
{
    struct batch_symbolization symbolization = { .batch = batch,
                                                 .wanted = json_object(),
                                                 .images = json_object(),
                                                 .named = json_object() };
    struct symbolization_answer *answer = calloc(1, sizeof(*answer));
    // Uploads go first, also at the processor.
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    // Nothing is freed: the process ends here.
    open_batch(&symbolization);
    name_places(&symbolization, symbolization.batch->project);
    if (symbolization.batch->project[0] != 0)
        name_places(&symbolization, "");
    place_names_join(symbolization.batch->known, symbolization.named);
    enum ch_status status =
        answer != NULL ? write_places(&symbolization, to_parent) : CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < symbolization.batch->count && status == CH_OK; i++)
        status = answer_for(&symbolization, i, answer, to_parent);
    free(answer);
    return status;
}
