// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/place_names.h"

#include <stdio.h>
#include <string.h>

#include "collector/store/store_symbolization.h"
#include "report/value/report.h"

void place_names_write_key(const json_t *frame, char out[PLACE_NAMES_SIZE])
{
    const char *offset = report_string(frame, "image_offset");
    const char *kind = report_string(frame, "kind");
    (void)snprintf(out, PLACE_NAMES_SIZE, "%.40s %.8s", offset != NULL ? offset : "",
                   kind != NULL ? kind : "");
}

// place_names_key writes the place of a frame and returns its build ID; NULL: it has a
// name, or is of no build.
static const char *place_names_key(const json_t *report, const json_t *frame,
                                   char out[PLACE_NAMES_SIZE])
{
    if (report_string(frame, "image_offset") == NULL ||
        report_string(frame, "function") != NULL || !report_frame_is_code(frame))
        return NULL;
    place_names_write_key(frame, out);
    return report_string(report_image(report, frame), "build_id");
}

static void want_place(const json_t *report, json_t *frame, const json_t *known,
                       json_t *wanted, size_t *out_count)
{
    char place[PLACE_NAMES_SIZE];
    const char *build = place_names_key(report, frame, place);
    if (build == NULL || *out_count >= PLACE_NAMES_MAX ||
        json_object_get(json_object_get(known, build), place) != NULL)
        return;
    json_t *places = json_object_get(wanted, build);
    if (places == NULL) {
        places = json_object();
        (void)json_object_set_new(wanted, build, places);
    }
    if (json_object_get(places, place) == NULL &&
        json_object_set(places, place, frame) == 0)
        ++*out_count;
}

void place_names_want(const json_t *report, const json_t *known, json_t *wanted,
                      size_t *out_count)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *last = NULL;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = report_frames(json_array_get(threads, i));
        // Threads with equal stacks share their frames.
        for (size_t k = 0; frames != last && k < json_array_size(frames); k++)
            want_place(report, json_array_get(frames, k), known, wanted, out_count);
        last = frames;
    }
}

void place_names_join(json_t *known, json_t *named)
{
    const char *key;
    json_t *places;
    json_object_foreach(named, key, places)
    {
        json_t *before = json_object_get(known, store_build_of(key));
        if (!json_is_object(before) && json_is_object(places))
            (void)json_object_set_new(known, store_build_of(key), json_copy(places));
        else if (store_build_of(key) != key)
            (void)json_object_update(before, places);
        else
            (void)json_object_update_missing(before, places);
    }
}

// append_named_frames appends the frames that a nameless one stands for.
static void append_named_frames(json_t *out, json_t *frame, const json_t *names)
{
    static const char *const members[] = { "function", "raw_name", "function_offset",
                                           "file",     "file_md5", "line",
                                           "column",   "inline" };
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        json_t *copy = json_copy(frame);
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

bool place_names_apply(const json_t *report, json_t *thread, const json_t *known)
{
    char place[PLACE_NAMES_SIZE];
    const json_t *frames = report_frames(thread);
    json_t *named = json_array();
    bool changed = false;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        const char *build = place_names_key(report, frame, place);
        const json_t *names =
            build != NULL ? json_object_get(json_object_get(known, build), place)
                          : NULL;
        bool found = report_string(json_array_get(names, 0), "function") != NULL;
        changed = changed || found;
        if (found)
            append_named_frames(named, frame, names);
        else
            (void)json_array_append(named, frame);
    }
    if (changed)
        (void)json_object_set(json_object_get(thread, "backtrace"), "frames", named);
    json_decref(named);
    return changed;
}
