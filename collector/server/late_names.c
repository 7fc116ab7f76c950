// SPDX-License-Identifier: Apache-2.0
#include "collector/server/late_names.h"

#include <string.h>

#include "collector/server/symbol_folder.h"
#include "report/report.h"
#include "symbolizer/symbolizer.h"

enum { NAMING_TIMEOUT_MS = 20000, IMAGES_LOOKED_AT = 1024 };

static bool frame_is_nameless(const json_t *frame)
{
    return report_frame_is_code(frame) && report_string(frame, "function") == NULL;
}

// mark_nameless sets marks[i] where a frame of the thread in image i has no name.
static void mark_nameless(const json_t *thread, bool marks[IMAGES_LOOKED_AT])
{
    size_t i;
    json_t *frame;
    json_array_foreach(report_frames(thread), i, frame)
    {
        int64_t image = report_integer(frame, "image", -1);
        if (image >= 0 && image < IMAGES_LOOKED_AT && frame_is_nameless(frame))
            marks[image] = true;
    }
}

// late_files says what the folder of debug files has for a report.
struct late_files {
    bool any;      // the folder has the debug file of some nameless frame's build
    bool uncached; // and one of those builds has no symbol cache
};

static struct late_files find_files(const json_t *report, const char *folder)
{
    struct late_files found = { false, false };
    bool marks[IMAGES_LOOKED_AT] = { false };
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(report, "threads"), i, value)
    {
        mark_nameless(value, marks);
    }
    json_array_foreach(json_object_get(report, "images"), i, value)
    {
        const char *id = report_string(value, "build_id");
        if (i >= IMAGES_LOOKED_AT || !marks[i] || id == NULL ||
            !symbol_folder_has(folder, SYMBOL_DEBUG_FILE, id))
            continue;
        found.any = true;
        found.uncached = found.uncached || symbol_folder_lacks_cache(folder, id);
    }
    return found;
}

// physical_end is the index after the physical frame that begins at start: its inlined
// calls come first, then the function they were inlined into.
static size_t physical_end(const json_t *frames, size_t start)
{
    size_t count = json_array_size(frames);
    size_t i = start;
    while (i + 1 < count && report_flag(json_array_get(frames, i), "inline"))
        i++;
    return i + 1;
}

static void append_range(json_t *out, const json_t *frames, size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        json_array_append(out, json_array_get(frames, i));
}

static bool same_late_place(const json_t *a, const json_t *b)
{
    const char *first = report_string(a, "address");
    const char *second = report_string(b, "address");
    if (first == NULL || second == NULL)
        return first == second;
    return strcmp(first, second) == 0;
}

// merge_frames is mine with its nameless frames replaced by theirs, or NULL if the two
// do not have the same physical frames.
static json_t *merge_frames(const json_t *mine, const json_t *theirs)
{
    json_t *merged = json_array();
    size_t i = 0;
    size_t j = 0;
    while (i < json_array_size(mine) && j < json_array_size(theirs)) {
        size_t mine_end = physical_end(mine, i);
        size_t theirs_end = physical_end(theirs, j);
        const json_t *last = json_array_get(mine, mine_end - 1);
        if (!same_late_place(last, json_array_get(theirs, theirs_end - 1)))
            break;
        if (frame_is_nameless(last))
            append_range(merged, theirs, j, theirs_end);
        else
            append_range(merged, mine, i, mine_end);
        i = mine_end;
        j = theirs_end;
    }
    if (i == json_array_size(mine) && j == json_array_size(theirs))
        return merged;
    json_decref(merged);
    return NULL;
}

static void merge_report(json_t *report, const json_t *named)
{
    const json_t *named_threads = json_object_get(named, "threads");
    size_t i;
    json_t *thread;
    json_array_foreach(json_object_get(report, "threads"), i, thread)
    {
        json_t *frames = report_frames(thread);
        json_t *merged =
            merge_frames(frames, report_frames(json_array_get(named_threads, i)));
        if (merged == NULL)
            continue;
        json_object_set_new(json_object_get(thread, "backtrace"), "frames", merged);
    }
}

// copy_late_report makes a deep copy, which shares no frame with report. NULL: out of
// memory.
static json_t *copy_late_report(const json_t *report)
{
    CH_CLEANUP(text_deinit) struct text bytes = { 0 };
    struct report_error error;
    json_t *copy = NULL;
    if (report_print(report, &bytes) != CH_OK ||
        report_parse(bytes.bytes, bytes.size, &copy, &error) != CH_OK)
        return NULL;
    return copy;
}

bool late_names_add(json_t *report, const char *folder)
{
    struct late_files files = find_files(report, folder);
    if (!files.any)
        return false;
    json_t *named = copy_late_report(report);
    char cache[SYMBOL_FOLDER_PATH_SIZE];
    const char *const folders[] = { folder };
    struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                          .debug_dirs = folders,
                                          .debug_dir_count = 1,
                                          .cache_folder =
                                              symbol_folder_cache(folder, cache),
                                          .timeout_ms = NAMING_TIMEOUT_MS };
    enum ch_status status =
        named != NULL ? symbolizer_report_guarded(named, &options) : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        merge_report(report, named);
    if (status == CH_OK && files.uncached)
        symbolizer_cache_report(named, &options);
    json_decref(named);
    return status == CH_OK;
}
