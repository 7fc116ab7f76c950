// SPDX-License-Identifier: Apache-2.0
#include "collector/server/naming_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/server/opened_report.h"
#include "collector/server/symbol_folder.h"
#include "collector/store/entry_marks.h"
#include "report/report.h"
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/symbolizer.h"

enum { NAMING_MS = 15000, NICENESS = 10 };

// batch_naming is a batch with what its reports have in common.
struct batch_naming {
    const struct naming_batch *batch;
    struct opened_report opened[NAMING_BATCH];
    json_t *builds; // of each build ID: the number of its image in `images`, or false
    json_t *images;
    json_t *places; // of each place: its number among `frames`
    json_t *frames;
    json_t *names; // of each place: its frames, innermost first
};

static bool place_is_nameless(const json_t *frame)
{
    return report_frame_is_code(frame) && report_string(frame, "function") == NULL &&
           report_string(frame, "image_offset") != NULL;
}

// place_key is what makes two frames one place: build, offset, and whether it is a
// return address.
static void place_key(const char *build, const json_t *frame, char out[256])
{
    const char *kind = report_string(frame, "kind");
    (void)snprintf(out, 256, "%.130s+%.40s %.8s", build,
                   report_string(frame, "image_offset"), kind != NULL ? kind : "");
}

// find_batch_image is the number of a build among the images, or -1 where its debug
// file is not here.
static json_int_t find_batch_image(struct batch_naming *naming, const json_t *image)
{
    const char *build = report_string(image, "build_id");
    const json_t *known = build != NULL ? json_object_get(naming->builds, build) : NULL;
    if (build == NULL || json_is_false(known))
        return -1;
    if (json_is_integer(known))
        return json_integer_value(known);
    bool here = symbol_folder_has(naming->batch->symbols, SYMBOL_DEBUG_FILE, build);
    json_int_t index = here ? (json_int_t)json_array_size(naming->images) : -1;
    (void)json_object_set_new(naming->builds, build,
                              here ? json_integer(index) : json_false());
    if (here)
        (void)json_array_append(naming->images, (json_t *)(uintptr_t)image);
    return index;
}

static void note_place(struct batch_naming *naming, const json_t *report,
                       const json_t *frame)
{
    char key[256];
    const json_t *image = report_image(report, frame);
    json_int_t index = place_is_nameless(frame) ? find_batch_image(naming, image) : -1;
    if (index < 0)
        return;
    place_key(report_string(image, "build_id"), frame, key);
    if (json_object_get(naming->places, key) != NULL)
        return;
    (void)json_object_set_new(
        naming->places, key, json_integer((json_int_t)json_array_size(naming->frames)));
    (void)json_array_append_new(
        naming->frames,
        json_pack("{s:s, s:s, s:I, s:s}", "kind", report_string(frame, "kind"),
                  "address", report_string(frame, "address"), "image", index,
                  "image_offset", report_string(frame, "image_offset")));
}

static void note_places(struct batch_naming *naming, const json_t *report)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    for (size_t i = 0; i < json_array_size(frames); i++)
        note_place(naming, report, json_array_get(frames, i));
}

// split_names gives each place its frames: the calls inlined there come before the
// place itself.
static void split_names(struct batch_naming *naming, const json_t *named)
{
    const json_t *thread = json_array_get(json_object_get(named, "threads"), 0);
    const json_t *frames = report_frames(thread);
    json_t *place = json_array();
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        (void)json_array_append(place, frame);
        if (report_flag(frame, "inline"))
            continue;
        (void)json_array_append_new(naming->names, place);
        place = json_array();
    }
    json_decref(place);
}

// name_places looks up all places as the frames of one report.
static void name_places(struct batch_naming *naming)
{
    char cache[SYMBOL_FOLDER_PATH_SIZE];
    const char *const folders[] = { naming->batch->symbols };
    struct symbolizer_options options = {
        .level = SYMBOLIZE_FULL,
        .debug_dirs = folders,
        .debug_dir_count = 1,
        .cache_folder = symbol_folder_cache(naming->batch->symbols, cache),
        .timeout_ms = NAMING_MS,
    };
    if (json_array_size(naming->frames) == 0)
        return;
    json_t *report =
        json_pack("{s:s, s:s, s:i, s:s, s:[{s:i, s:{s:O}}], s:O}", "schema",
                  REPORT_SCHEMA_EXPANDED, "id", "00000000-0000-7000-8000-000000000000",
                  "revision", 0, "time", "1970-01-01T00:00:00.000Z", "threads", "tid",
                  1, "backtrace", "frames", naming->frames, "images", naming->images);
    if (report == NULL)
        return;
    // This is a child with limits already.
    if (symbolizer_report(report, &options) == CH_OK)
        split_names(naming, report);
    symbolizer_cache_report(report, &options);
    json_decref(report);
}

// append_named appends the frames that a nameless one stands for.
static void append_named(json_t *out, const json_t *frame, const json_t *names)
{
    static const char *const members[] = { "function", "raw_name", "function_offset",
                                           "file",     "file_md5", "line",
                                           "column",   "inline" };
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        json_t *copy = json_copy((json_t *)(uintptr_t)frame);
        for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
            json_t *value = json_object_get(name, members[m]);
            if (value != NULL)
                (void)json_object_set(copy, members[m], value);
        }
        // Whose code it is depends on the name.
        (void)json_object_del(copy, "system");
        (void)json_object_del(copy, "rule");
        (void)json_array_append_new(out, copy);
    }
}

static const json_t *find_names(const struct batch_naming *naming, const json_t *report,
                                const json_t *frame)
{
    char key[256];
    const char *build = report_string(report_image(report, frame), "build_id");
    if (!place_is_nameless(frame) || build == NULL)
        return NULL;
    place_key(build, frame, key);
    const json_t *place = json_object_get(naming->places, key);
    return json_is_integer(place)
               ? json_array_get(naming->names, (size_t)json_integer_value(place))
               : NULL;
}

// apply_names puts names into the crashed thread, and what follows from them into the
// crash. It says whether there were any.
static bool apply_names(const struct batch_naming *naming, json_t *report)
{
    json_t *thread = report_crashed_thread(report);
    const json_t *frames = report_frames(thread);
    json_t *named = json_array();
    bool changed = false;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        const json_t *names = find_names(naming, report, frame);
        changed = changed || names != NULL;
        if (names != NULL)
            append_named(named, frame, names);
        else
            (void)json_array_append(named, frame);
    }
    if (changed) {
        // Threads with equal stacks share a backtrace.
        json_t *backtrace = json_copy(json_object_get(thread, "backtrace"));
        (void)json_object_set(backtrace, "frames", named);
        (void)json_object_set_new(thread, "backtrace", backtrace);
        diagnosis_refine(report);
    }
    json_decref(named);
    return changed;
}

static enum ch_status write_answer(const struct naming_answer *answer, int to_parent)
{
    const char *bytes = (const char *)answer;
    for (size_t done = 0; done < sizeof(*answer);) {
        ssize_t count = write(to_parent, bytes + done, sizeof(*answer) - done);
        if (count < 0 && errno != EINTR)
            return CH_ERR_IO;
        done += count > 0 ? (size_t)count : 0;
    }
    return CH_OK;
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

static enum ch_status answer_for(struct batch_naming *naming, size_t index,
                                 struct naming_answer *answer, int to_parent)
{
    json_t *report = naming->opened[index].json;
    int64_t received_ms = naming->batch->items[index].received_ms;
    if (report == NULL)
        return CH_OK;
    memset(answer, 0, sizeof(*answer));
    answer->index = (uint32_t)index;
    if (entry_from_report(report, received_ms, &answer->entry) != CH_OK)
        return CH_OK;
    if (apply_names(naming, report) &&
        know_named(report, received_ms, &answer->entry) != CH_OK)
        return CH_OK;
    entry_marks_from_report(report, &answer->entry);
    return write_answer(answer, to_parent);
}

static void open_batch(struct batch_naming *naming)
{
    pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER; // of this process
    for (size_t i = 0; i < naming->batch->count; i++) {
        const struct naming_item *item = &naming->batch->items[i];
        struct store_body body = { .bytes = item->body.bytes,
                                   .size = item->body.size,
                                   .encoding = item->encoding };
        struct opened_report_error error;
        if (opened_report_open(&naming->opened[i], &body, &alone, &error) != 0) {
            naming->opened[i].json = NULL;
            continue;
        }
        if (naming->opened[i].large != NULL)
            pthread_mutex_unlock(naming->opened[i].large);
        note_places(naming, naming->opened[i].json);
    }
}

enum ch_status naming_batch_run(void *batch, int to_parent)
{
    struct batch_naming naming = { .batch = batch,
                                   .builds = json_object(),
                                   .images = json_array(),
                                   .places = json_object(),
                                   .frames = json_array(),
                                   .names = json_array() };
    struct naming_answer *answer = calloc(1, sizeof(*answer));
    enum ch_status status = answer != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    // Uploads go first, also at the processor.
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    // Nothing is freed: the process ends here.
    open_batch(&naming);
    name_places(&naming);
    for (size_t i = 0; i < naming.batch->count && status == CH_OK; i++)
        status = answer_for(&naming, i, answer, to_parent);
    free(answer);
    return status;
}
