// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/file.h"
#include "cli/render/render_values.h"
#include "report/file/swift_symbol.h"
#include "report/grouping/fingerprint.h"
#include "report/grouping/report_in_app.h"
#include "report/summary/readable_name.h"
#include "report/value/report.h"
#include "report/value/value_text.h"

// image_name is the file name of the frame's image, or NULL.
static const char *image_name(const json_t *report, const json_t *frame)
{
    const json_t *image = report_image(report, frame);
    const char *name = report_string(image, "name");
    return file_name(name != NULL ? name : report_string(image, "path"));
}

static void append_function(const char *function, enum render_name form,
                            struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    if (form == NAME_READABLE)
        readable_name(function, &name);
    if (form == NAME_SHORT)
        readable_name_short(function, &name);
    pen_escape(name.size != 0 && text_ok(&name) ? name.bytes : function, out);
}

void render_frames_append_name(const json_t *report, const json_t *frame,
                               enum render_name form, struct text *out)
{
    const char *linker = form == NAME_LINKER ? report_string(frame, "raw_name") : NULL;
    const char *function = linker != NULL ? linker : report_string(frame, "function");
    const char *image = image_name(report, frame);
    const char *offset = report_string(frame, "image_offset");
    if (function != NULL) {
        append_function(function, form, out);
        if (form != NAME_SHORT && form != NAME_LINKER &&
            swift_symbol_is_mangled(function))
            text_append_string(out, " [mangled]");
        return;
    }
    const char *address = report_string(frame, "address");
    pen_escape(address != NULL ? address : "?", out);
    if (image != NULL && offset != NULL) {
        text_append_string(out, " in ");
        pen_escape(image, out);
        text_appendf(out, " + %s", offset);
    }
}

void render_frames_append_line(const json_t *frame, bool short_path, struct text *out)
{
    const char *file = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    int64_t column = report_integer(frame, "column", 0);
    if (file == NULL)
        return;
    pen_escape(short_path ? file_name(file) : file, out);
    if (line > 0)
        text_appendf(out, ":%" PRId64, line);
    if (line > 0 && column > 0)
        text_appendf(out, ":%" PRId64, column);
}

const json_t *render_frames_place(const json_t *report, const json_t *thread)
{
    const json_t *frames = report_frames(thread);
    const json_t *innermost = NULL;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = report_string(frame, "function");
        if (!report_frame_is_code(frame))
            continue;
        if (innermost == NULL)
            innermost = frame;
        bool own = !report_frame_is_system(report, frame) &&
                   report_image(report, frame) != NULL;
        if (own && (function == NULL || !fingerprint_only_reports(function)))
            return frame;
    }
    return innermost;
}

// append_place appends where a frame is, after its name.
static void append_place(const struct render_frames *frames, const json_t *frame,
                         struct text *out)
{
    const char *image = image_name(frames->report, frame);
    bool named = report_string(frame, "function") != NULL;
    bool placed = report_string(frame, "file") != NULL;
    if (placed) {
        text_append_string(out, "at ");
        render_frames_append_line(frame, false, out);
    }
    if (!named || image == NULL || (placed && !frames->addresses))
        return;
    text_append_string(out, placed ? " in " : "in ");
    pen_escape(image, out);
}

// append_detail appends the address and how the frame was found.
static void append_detail(const json_t *frame, struct text *out)
{
    const char *trust = report_string(frame, "trust");
    const char *address = report_string(frame, "address");
    pen_escape(address != NULL ? address : "?", out);
    if (trust != NULL) {
        text_append_string(out, " (");
        pen_escape(trust, out);
        text_append_string(out, ")");
    }
}

static const char *bytes_of(const struct text *text)
{
    return text->size != 0 ? text->bytes : "";
}

static void render_arguments(const struct pen *pen, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    render_values_append_arguments(frame, &line);
    if (line.size == 0)
        return;
    pen_set(pen, PEN_DIM);
    pen_plain(pen, "          %s\n", line.bytes);
    pen_set(pen, PEN_PLAIN);
}

// render_variables writes the variables of a list that have a value, as many on a line
// as fit, after heading.
static void render_variables(const struct pen *pen, const char *heading,
                             const json_t *list)
{
    enum { INDENT = 10, COLUMNS = 100 };
    size_t limit = pen->width > INDENT && pen->width < COLUMNS ? pen->width : COLUMNS;
    size_t columns = 0;
    size_t at = 0;
    int64_t scope = 0;
    pen_set(pen, PEN_DIM);
    for (;;) {
        struct text CH_CLEANUP(text_deinit) value = { 0 };
        struct text CH_CLEANUP(text_deinit) one = { 0 };
        const json_t *variable = render_values_next_variable(list, &at, &value);
        if (variable == NULL)
            break;
        int64_t inner = value_text_scope(variable);
        if (columns == 0)
            text_append_string(&one, heading);
        if (inner != scope && inner != 0)
            text_appendf(&one, "in block %" PRId64 ": ", inner);
        text_append_string(&one, bytes_of(&value));
        size_t size = pen_columns(bytes_of(&one)) + 2;
        bool fits = columns != 0 && columns + size <= limit && inner == scope;
        scope = inner;
        if (fits)
            pen_plain(pen, ", %s", bytes_of(&one));
        else
            pen_plain(pen, "%s%*s%s", columns != 0 ? ",\n" : "", INDENT, "",
                      bytes_of(&one));
        columns = fits ? columns + size : INDENT + size;
    }
    pen_plain(pen, "%s", columns != 0 ? "\n" : "");
    pen_set(pen, PEN_PLAIN);
}

static void render_unknown(const struct pen *pen, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    render_values_append_unknown(frame, &line);
    if (line.size == 0)
        return;
    pen_set(pen, PEN_DIM);
    pen_plain(pen, "          %s\n", line.bytes);
    pen_set(pen, PEN_PLAIN);
}

// render_tail_callers writes the functions that ran between a frame and the next one
// and left no frames: their last act was a call.
static void render_tail_callers(const struct render_frames *frames, const json_t *frame)
{
    const struct pen *pen = frames->pen;
    const json_t *callers = json_object_get(frame, "tail_callers");
    for (size_t i = 0; i < json_array_size(callers); i++) {
        const json_t *caller = json_array_get(callers, i);
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        struct text CH_CLEANUP(text_deinit) place = { 0 };
        enum render_name form = frames->addresses ? NAME_WHOLE : NAME_READABLE;
        render_frames_append_name(frames->report, caller,
                                  frames->linker_names ? NAME_LINKER : form, &name);
        append_place(frames, caller, &place);
        pen_set(pen, PEN_NAME);
        pen_plain(pen, "   -  %s [inferred, gone by a tail call]", bytes_of(&name));
        pen_set(pen, PEN_PLACE);
        pen_plain(pen, " %s\n", bytes_of(&place));
        pen_set(pen, PEN_PLAIN);
    }
}

static void render_frame(const struct render_frames *frames, const json_t *frame,
                         uint64_t number)
{
    enum { INDENT = 6 };
    const struct pen *pen = frames->pen;
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct text CH_CLEANUP(text_deinit) place = { 0 };
    struct text CH_CLEANUP(text_deinit) detail = { 0 };
    bool system = report_frame_is_system(frames->report, frame);
    const char *mark = report_frame_mark(frame);

    enum render_name form = frames->addresses ? NAME_WHOLE : NAME_READABLE;
    render_frames_append_name(frames->report, frame,
                              frames->linker_names ? NAME_LINKER : form, &name);
    if (mark != NULL)
        text_appendf(&name, " [%s]", mark);
    if (report_flag(frame, "creator"))
        text_append_string(&name, " [created it]");
    if (report_flag(frame, "tail_call"))
        text_append_string(&name, " [by a tail call]");
    append_place(frames, frame, &place);
    if (frames->addresses)
        append_detail(frame, &detail);
    size_t columns =
        INDENT + pen_columns(bytes_of(&name)) + 1 + pen_columns(bytes_of(&place));
    bool broken = pen->width != 0 && columns > pen->width;

    pen_set(pen, system ? PEN_DIM : PEN_PLAIN);
    pen_plain(pen, "%4" PRIu64 "  ", number);
    if (!system)
        pen_set(pen, PEN_NAME);
    pen_plain(pen, "%s", bytes_of(&name));
    if (place.size != 0) {
        pen_set(pen, system ? PEN_DIM : PEN_PLACE);
        if (broken)
            pen_plain(pen, "\n%*s", INDENT + 4, "");
        pen_plain(pen, "%s%s", broken ? "" : " ", bytes_of(&place));
    }
    if (detail.size != 0) {
        pen_set(pen, PEN_DIM);
        pen_plain(pen, "\n%*s%s", INDENT + 4, "", bytes_of(&detail));
    }
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
    if (!system || frames->addresses)
        render_arguments(pen, frame);
    if (!system)
        render_variables(pen, "", json_object_get(frame, "locals"));
    if (!system)
        render_unknown(pen, frame);
    if (!system)
        render_variables(pen, "global: ", json_object_get(frame, "globals"));
    render_tail_callers(frames, frame);
}

static void write_frame_note(const struct pen *pen, const char *note)
{
    pen_set(pen, PEN_DIM);
    pen_plain(pen, "      %s\n", note);
    pen_set(pen, PEN_PLAIN);
}

// write_stack_end reports why the stack ends here, unless this is its outermost frame.
static void write_stack_end(const struct pen *pen, const char *ended)
{
    static const struct {
        const char *word;
        const char *sentence;
    } ends[] = {
        { "no-rule", "the stack could not be followed further: nothing says how this "
                     "code keeps it" },
        { "fault",
          "the stack could not be followed further: memory that cannot be read" },
        { "no-progress", "the stack could not be followed further: it leads back to "
                         "itself" },
        { "limit", "the limit of frames was reached: there are more" },
    };
    for (size_t i = 0; ended != NULL && i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (strcmp(ended, ends[i].word) == 0)
            write_frame_note(pen, ends[i].sentence);
    }
}

static bool same_string(const json_t *a, const json_t *b, const char *key)
{
    const char *left = report_string(a, key);
    const char *right = report_string(b, key);
    return left != NULL && right != NULL && strcmp(left, right) == 0;
}

// repeats counts the frames after list[at] that are the same call again: recursion.
static size_t repeats(const json_t *list, size_t at)
{
    const json_t *frame = json_array_get(list, at);
    size_t count = 0;
    for (size_t i = at + 1; i < json_array_size(list); i++, count++) {
        const json_t *next = json_array_get(list, i);
        if (!report_frame_is_code(next) || !same_string(frame, next, "function") ||
            !same_string(frame, next, "address"))
            break;
    }
    return count;
}

static void write_frames_omitted(const struct pen *pen, int64_t count)
{
    char note[64];
    (void)snprintf(note, sizeof(note), "... %" PRId64 " frame%s omitted", count,
                   count == 1 ? "" : "s");
    write_frame_note(pen, note);
}

// interpreted_omitted is how many frames of an interpreter were left out after one of
// count frames from at on.
static int64_t interpreted_omitted(const json_t *list, size_t at, size_t count)
{
    int64_t omitted = 0;
    for (size_t i = at; i < at + count; i++) {
        int64_t here = report_integer(json_array_get(list, i), "omitted", 0);
        omitted += here > 0 && here < INT32_MAX ? here : 0;
    }
    return omitted;
}

// write_code writes the frame at list[at] and one line for the frames that repeat it.
// It returns how many frames these are.
static size_t write_code(const struct render_frames *frames, const json_t *list,
                         size_t at, uint64_t number)
{
    enum { REPEATS_SHOWN = 3 };
    size_t again = frames->addresses ? 0 : repeats(list, at);
    render_frame(frames, json_array_get(list, at), number);
    if (again < REPEATS_SHOWN)
        return 1;
    char note[64];
    (void)snprintf(note, sizeof(note), "... and %zu times more", again);
    write_frame_note(frames->pen, note);
    return again + 1;
}

void render_frames_write(const struct render_frames *frames, const json_t *thread)
{
    const json_t *list = report_frames(thread);
    uint64_t number = 0;
    struct text CH_CLEANUP(text_deinit) exception = { 0 };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    report_exception_write(thread, &exception);
    if (exception.size != 0)
        pen_escape(exception.bytes, &shown);
    if (shown.size != 0)
        write_frame_note(frames->pen, shown.bytes);
    for (size_t i = 0; i < json_array_size(list);) {
        const json_t *frame = json_array_get(list, i);
        const char *kind = report_string(frame, "kind");
        size_t written = 1;
        if (report_frame_is_code(frame)) {
            written = write_code(frames, list, i, number);
            int64_t omitted = interpreted_omitted(list, i, written);
            if (omitted != 0)
                write_frames_omitted(frames->pen, omitted);
            number += written + (uint64_t)omitted;
        } else if (kind != NULL && strcmp(kind, "omit") == 0) {
            int64_t count = report_integer(frame, "count", 0);
            write_frames_omitted(frames->pen, count);
            number += count > 0 ? (uint64_t)count : 0;
        } else {
            write_frame_note(frames->pen, "... and more");
        }
        i += written;
    }
    if (json_array_size(list) == 0)
        write_frame_note(frames->pen, "no frames are known");
    write_stack_end(frames->pen,
                    report_string(json_object_get(thread, "backtrace"), "ended"));
}

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
