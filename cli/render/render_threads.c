// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"

enum { NAMES_MAX = 6 };

// keyed is a thread and the hash of its stack.
struct keyed {
    uint64_t key;
    size_t first; // index of the first thread of its group
    size_t index;
};

// hash_frame_text continues a 64-bit FNV-1a hash; 0xff, which UTF-8 never contains,
// ends each text.
static uint64_t hash_frame_text(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != 0; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t hash_rendered_stack(const json_t *thread)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const json_t *frames = report_frames(thread);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        hash = hash_frame_text(hash, report_string(frame, "kind"));
        hash = hash_frame_text(hash, function);
        if (function == NULL)
            hash = hash_frame_text(hash, report_string(frame, "address"));
        hash = hash_frame_text(hash, report_string(frame, "file"));
        hash ^= (uint64_t)report_integer(frame, "line", 0);
        hash ^= (uint64_t)report_integer(frame, "count", 0) << 32;
    }
    return hash_frame_text(
        hash, report_string(json_object_get(thread, "backtrace"), "ended"));
}

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *left = a;
    const struct keyed *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static int compare_groups(const void *a, const void *b)
{
    const struct keyed *left = a;
    const struct keyed *right = b;
    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

// group_threads lists the threads but the crashed one, those of a group one after the
// other.
static struct keyed *group_threads(const json_t *threads, const json_t *crashed,
                                   size_t *out_count)
{
    size_t count = 0;
    struct keyed *list = calloc(json_array_size(threads) + 1, sizeof(*list));
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (thread != crashed)
            list[count++] =
                (struct keyed){ .key = hash_rendered_stack(thread), .index = i };
    }
    qsort(list, count, sizeof(*list), compare_keys);
    for (size_t i = 0; i < count; i++)
        list[i].first =
            i > 0 && list[i].key == list[i - 1].key ? list[i - 1].first : list[i].index;
    qsort(list, count, sizeof(*list), compare_groups);
    *out_count = count;
    return list;
}

void render_threads_append_name(const json_t *thread, struct text *out)
{
    const char *name = report_string(thread, "name");
    text_appendf(out, "%" PRId64, report_integer(thread, "tid", 0));
    if (name == NULL || *name == 0)
        return;
    text_append_string(out, " \"");
    pen_escape(name, out);
    text_append_string(out, "\"");
}

static const char *state_word(const json_t *thread)
{
    static const struct {
        char letter;
        const char *word;
    } states[] = {
        { 'R', "running" }, { 'S', "sleeping" }, { 'D', "in uninterruptible sleep" },
        { 'T', "stopped" }, { 't', "traced" },   { 'Z', "a zombie" },
        { 'I', "idle" },
    };
    const char *state = report_string(thread, "state");
    for (size_t i = 0; state != NULL && i < sizeof(states) / sizeof(states[0]); i++) {
        if (*state == states[i].letter)
            return states[i].word;
    }
    return NULL;
}

// append_header appends the names of the threads of a group.
static void append_header(const json_t *threads, const struct keyed *group,
                          size_t count, struct text *out)
{
    if (count == 1)
        text_append_string(out, "Thread ");
    else
        text_appendf(out, "%zu threads with this stack: ", count);
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        text_append_string(out, i != 0 ? ", " : "");
        render_threads_append_name(json_array_get(threads, group[i].index), out);
    }
    if (count > NAMES_MAX)
        text_appendf(out, " and %zu more", count - NAMES_MAX);
    const char *state = state_word(json_array_get(threads, group[0].index));
    if (state != NULL)
        text_appendf(out, ", %s", state);
}

// append_brief appends where the thread is: its innermost frame, and the program's own
// frame that led there.
static void append_brief(const struct render_frames *frames, const json_t *thread,
                         struct text *out)
{
    const enum render_name form = frames->linker_names ? NAME_LINKER : NAME_SHORT;
    const json_t *report = frames->report;
    const json_t *innermost = json_array_get(report_frames(thread), 0);
    const json_t *own = render_frames_place(report, thread);
    if (own == NULL)
        return;
    text_append_string(out, ": ");
    if (innermost != own && report_frame_is_code(innermost)) {
        render_frames_append_name(report, innermost, form, out);
        text_append_string(out, " called by ");
    }
    render_frames_append_name(report, own, form, out);
    if (report_string(own, "file") != NULL) {
        text_append_string(out, " at ");
        render_frames_append_line(own, true, out);
    }
}

static void render_thread_group(const struct render_frames *frames,
                                const struct keyed *group, size_t count, bool brief)
{
    const struct pen *pen = frames->pen;
    const json_t *threads = json_object_get(frames->report, "threads");
    const json_t *thread = json_array_get(threads, group[0].index);
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    append_header(threads, group, count, &line);
    if (brief)
        append_brief(frames, thread, &line);
    if (!brief)
        pen_set(pen, PEN_BOLD);
    pen_plain(pen, "%s%s", brief ? "  " : "\n", line.size != 0 ? line.bytes : "");
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "%s\n", brief ? "" : ":");
    if (!brief)
        render_frames_write(frames, thread);
}

void render_threads_write(const struct render_frames *frames, bool brief)
{
    const json_t *threads = json_object_get(frames->report, "threads");
    const json_t *crashed = report_crashed_thread(frames->report);
    size_t count = 0;
    struct keyed *list = group_threads(threads, crashed, &count);
    if (list != NULL && count != 0 && brief)
        pen_plain(frames->pen, "\nOther threads:\n");
    for (size_t i = 0; list != NULL && i < count;) {
        size_t size = 1;
        while (i + size < count && list[i + size].first == list[i].first)
            size++;
        render_thread_group(frames, &list[i], size, brief);
        i += size;
    }
    free(list);
}

// append_goroutines appends the numbers of the goroutines from index on that have the
// stack of the one at index, what they do and why. False: they were shown before.
static bool append_goroutines(const json_t *list, size_t index, struct text *out)
{
    enum { NUMBERS_SHOWN = 8 };
    const json_t *first = json_array_get(list, index);
    const json_t *stack = json_object_get(first, "backtrace");
    const char *state = report_string(first, "state");
    const char *reason = report_string(first, "reason");
    size_t count = 0;
    for (size_t i = 0; stack != NULL && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (json_object_get(one, "backtrace") != stack)
            continue;
        if (i < index)
            return false;
        if (count < NUMBERS_SHOWN)
            text_appendf(out, "%s%" PRId64, count != 0 ? ", " : "",
                         report_integer(one, "id", 0));
        count++;
    }
    if (stack == NULL)
        text_appendf(out, "%" PRId64, report_integer(first, "id", 0));
    if (count > NUMBERS_SHOWN)
        text_appendf(out, " and %zu more", count - NUMBERS_SHOWN);
    text_append_string(out, " ");
    pen_escape(state != NULL ? state : "?", out);
    if (reason != NULL) {
        text_append_string(out, " (");
        pen_escape(reason, out);
        text_append_string(out, ")");
    }
    return true;
}

void render_goroutines_write(const struct render_frames *frames, bool brief)
{
    const struct pen *pen = frames->pen;
    const json_t *list = json_object_get(frames->report, "goroutines");
    if (json_array_size(list) != 0 && brief)
        pen_plain(pen, "\nGoroutines:\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        if (!append_goroutines(list, i, &line))
            continue;
        if (brief)
            append_brief(frames, one, &line);
        if (!text_ok(&line))
            continue;
        pen_plain(pen, brief ? "  %s\n" : "\nGoroutine %s:\n", line.bytes);
        if (!brief && json_object_get(one, "backtrace") != NULL)
            render_frames_write(frames, one);
    }
}
