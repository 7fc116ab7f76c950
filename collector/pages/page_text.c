// SPDX-License-Identifier: Apache-2.0
//
// A report as plain text, for an issue or a chat: the crash and its thread come first,
// then registers and the other threads.
#include <string.h>

#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "report/grouping/report_in_app.h"
#include "report/summary/crash_words.h"
#include "report/summary/readable_name.h"
#include "report/value/around.h"
#include "report/value/report.h"
#include "report/value/value_text.h"

enum { FRAMES_WRITTEN = 200, VALUES_WRITTEN = 24, THREADS_WRITTEN = 100 };

// append_plain appends a value on one line, without control characters, which a
// terminal would obey.
static void append_plain(struct text *out, const char *value, size_t limit)
{
    size_t length = value != NULL ? strnlen(value, limit) : 0;
    for (size_t i = 0; i < length; i++) {
        // C1 controls, U+0080 to U+009F, are 0xc2 and a byte below 0xa0 in UTF-8.
        unsigned char byte = (unsigned char)value[i];
        bool control = byte < ' ' || byte == 0x7f ||
                       (byte == 0xc2 && (unsigned char)value[i + 1] < 0xa0);
        text_append(out, control ? "." : value + i, 1);
    }
}

static void write_text_line(struct text *out, const char *name, const char *value)
{
    if (value == NULL || value[0] == 0)
        return;
    text_appendf(out, "%-12s ", name);
    append_plain(out, value, PAGE_NAME);
    text_append_string(out, "\n");
}

static void write_text_function(struct text *out, const json_t *report,
                                const json_t *frame)
{
    const char *function = report_string(frame, "function");
    struct text name = { 0 };
    if (function != NULL)
        readable_name(function, &name);
    if (name.bytes != NULL) {
        append_plain(out, name.bytes, PAGE_NAME);
    } else {
        const char *image = report_string(report_image(report, frame), "name");
        append_plain(out, image != NULL ? image : "?", PAGE_SHORT);
        text_append_string(out, "+");
        append_plain(out, report_string(frame, "image_offset"), 24);
    }
    text_deinit(&name);
}

// write_text_source writes the frame's source line below it.
static void write_text_source(struct text *out, struct page_sources *sources,
                              const json_t *frame)
{
    struct text line = { 0 };
    page_source_line(&line, sources, frame);
    if (line.size != 0) {
        text_append_string(out, "       > ");
        append_plain(out, line.bytes, PAGE_SHORT);
        text_append_string(out, "\n");
    }
    text_deinit(&line);
}

// write_text_variables writes the values of a frame's variables, or why there are none.
static void write_text_variables(struct text *out, const json_t *frame,
                                 const char *list)
{
    const json_t *variables = json_object_get(frame, list);
    for (size_t i = 0; i < json_array_size(variables) && i < VALUES_WRITTEN; i++) {
        const json_t *variable = json_array_get(variables, i);
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        struct text CH_CLEANUP(text_deinit) state = { 0 };
        value_text_append_name(variable, &name);
        value_text_append_state(variable, &state);
        text_append_string(out, "       ");
        append_plain(out, name.bytes, PAGE_SHORT);
        text_append_string(out, " = ");
        append_plain(out, state.bytes, PAGE_VALUE);
        if (value_text_scope(variable) != 0)
            text_appendf(out, " (in block %lld)",
                         (long long)value_text_scope(variable));
        text_append_string(out, "\n");
    }
}

static void write_text_place(struct text *out, const json_t *report,
                             const json_t *frame)
{
    write_text_function(out, report, frame);
    if (report_string(frame, "file") == NULL)
        return;
    text_append_string(out, " at ");
    append_plain(out, report_string(frame, "file"), PAGE_NAME);
    text_appendf(out, ":%lld", (long long)report_integer(frame, "line", 0));
}

static void write_text_frame(struct text *out, const json_t *report,
                             const json_t *frame, size_t number)
{
    if (!report_frame_is_code(frame)) {
        text_appendf(out, "     ... %lld frames left out\n",
                     (long long)report_integer(frame, "count", 0));
        return;
    }
    text_appendf(out, "%4zu ", number);
    write_text_place(out, report, frame);
    const char *mark = report_frame_mark(frame);
    if (mark != NULL)
        text_appendf(out, " (%s)", mark);
    if (report_flag(frame, "creator"))
        text_append_string(out, " (created it)");
    if (report_flag(frame, "tail_call"))
        text_append_string(out, " (by a tail call)");
    text_append_string(out, "\n");
    write_text_variables(out, frame, "arguments");
    write_text_variables(out, frame, "locals");
    write_text_variables(out, frame, "globals");
    const json_t *callers = json_object_get(frame, "tail_callers");
    for (size_t i = 0; i < json_array_size(callers) && i < VALUES_WRITTEN; i++) {
        text_append_string(out, "   - ");
        write_text_place(out, report, json_array_get(callers, i));
        text_append_string(out, " (inferred, gone by a tail call)\n");
    }
}

static void write_text_registers(struct text *out, const json_t *thread)
{
    const char *name;
    json_t *value;
    size_t written = 0;
    json_t *registers = json_object_get(thread, "registers");
    if (json_object_size(registers) != 0)
        text_append_string(out, "\nregisters\n");
    json_object_foreach(registers, name, value)
    {
        text_append_string(out, written % 4 == 0 ? "    " : "  ");
        append_plain(out, name, 16);
        text_append_string(out, "=");
        append_plain(out, json_string_value(value), 24);
        if (++written % 4 == 0)
            text_append_string(out, "\n");
    }
    if (written % 4 != 0)
        text_append_string(out, "\n");
}

static void write_text_lines(struct text *out, const char *title,
                             const struct text *lines)
{
    if (lines->size == 0 || !text_ok(lines))
        return;
    text_appendf(out, "\n%s\n", title);
    for (const char *line = lines->bytes; *line != 0;) {
        size_t length = strcspn(line, "\n");
        json_t *one = json_stringn_nocheck(line, length);
        append_plain(out, json_string_value(one), PAGE_NAME);
        text_append_string(out, "\n");
        json_decref(one);
        line += length + (line[length] == '\n');
    }
}

// write_text_around writes the code around the crash, what registers point to, and the
// memory there.
static void write_text_around(struct text *out, const json_t *report)
{
    const json_t *listings =
        json_object_get(json_object_get(report, "crash"), "disassembly");
    struct text CH_CLEANUP(text_deinit) pointers = { 0 };
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    struct text CH_CLEANUP(text_deinit) process = { 0 };
    for (size_t i = 0; i < json_array_size(listings); i++) {
        const json_t *listing = json_array_get(listings, i);
        struct text CH_CLEANUP(text_deinit) lines = { 0 };
        char title[48];
        (void)snprintf(title, sizeof(title), "code of frame %lld",
                       (long long)report_integer(listing, "frame", 0));
        around_code_append(report, listing, AROUND_ALL, false, &lines);
        write_text_lines(out, title, &lines);
    }
    around_pointers_append(report, &pointers);
    around_memory_append(report, &memory);
    write_text_lines(out, "registers point to", &pointers);
    write_text_lines(out, "memory", &memory);
    around_process_append(report, &process);
    write_text_lines(out, "process", &process);
}

// write_text_heap writes the stacks that the misused block was freed and allocated
// with.
static void write_text_heap(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *heap = json_object_get(crash, "heap");
    struct crash_heap facts;
    crash_words_heap(crash, &facts);
    const struct {
        const char *key;
        const struct crash_heap_event *facts;
    } events[] = { { "freed", &facts.freed }, { "allocated", &facts.allocated } };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        const json_t *frames = report_frames(json_object_get(heap, events[i].key));
        struct text CH_CLEANUP(text_deinit) words = { 0 };
        if (json_array_size(frames) == 0)
            continue;
        crash_heap_append_event(events[i].facts, &words);
        text_appendf(out, "\n%s here ", events[i].key);
        append_plain(out, text_ok(&words) ? words.bytes : NULL, PAGE_SHORT);
        text_append_string(out, "\n");
        for (size_t k = 0; k < json_array_size(frames) && k < FRAMES_WRITTEN; k++)
            write_text_frame(out, report, json_array_get(frames, k), k);
    }
}

// write_other_threads writes the threads that did not crash, without their values.
static void write_other_threads(struct text *out, const json_t *report,
                                const json_t *crashed)
{
    const json_t *threads = json_object_get(report, "threads");
    size_t written = 0;
    for (size_t i = 0; i < json_array_size(threads) && !page_is_full(out); i++) {
        const json_t *thread = json_array_get(threads, i);
        const json_t *frames = report_frames(thread);
        if (thread == crashed || written++ == THREADS_WRITTEN)
            continue;
        text_appendf(out, "\nthread %lld ",
                     (long long)report_integer(thread, "tid", 0));
        append_plain(out, report_string(thread, "name"), PAGE_SHORT);
        text_append_string(out, "\n");
        for (size_t k = 0; k < json_array_size(frames) && k < FRAMES_WRITTEN; k++)
            write_text_frame(out, report, json_array_get(frames, k), k);
    }
    if (written > THREADS_WRITTEN)
        text_appendf(out, "\n... %zu more threads are in the JSON\n",
                     written - THREADS_WRITTEN);
}

void page_text_write(struct text *out, const struct viewed_report *viewed,
                     const char *id)
{
    const json_t *report = viewed->opened.json;
    const json_t *crash = json_object_get(report, "crash");
    const json_t *thread = report_crashed_thread(report);
    const json_t *frames = report_frames(thread);
    CH_CLEANUP(page_sources_deinit) struct page_sources sources;
    page_sources_init(&sources, viewed);
    bool sourced = false;
    write_text_line(out, "crash", viewed->title);
    write_text_line(out, "kind", report_string(crash, "kind"));
    write_text_line(out, "summary", report_string(crash, "summary"));
    write_text_line(out, "names", viewed_report_names(viewed));
    write_text_line(out, "message", report_unsaid_message(crash));
    write_text_line(out, "address", report_string(crash, "address"));
    write_text_line(out, "program",
                    report_string(json_object_get(report, "process"), "executable"));
    write_text_line(out, "release", report_string(report, "release"));
    write_text_line(out, "environment", report_string(report, "environment"));
    write_text_line(out, "host",
                    report_string(json_object_get(report, "host"), "hostname"));
    write_text_line(out, "time", report_string(report, "time"));
    write_text_line(out, "report", id);
    write_text_line(out, "group", viewed->group);
    int64_t held_back =
        report_integer(json_object_get(report, "spool"), "held_back", 0);
    if (held_back > 0)
        text_appendf(out, "%-12s %lld more crashes of this program\n", "held back",
                     (long long)held_back);
    if (thread != NULL)
        text_appendf(out, "\nthread %lld crashed\n",
                     (long long)report_integer(thread, "tid", 0));
    size_t count = json_array_size(frames);
    for (size_t i = 0; i < count && i < FRAMES_WRITTEN; i++) {
        const json_t *frame = json_array_get(frames, i);
        write_text_frame(out, report, frame, i);
        if (sourced || report_frame_is_system(report, frame))
            continue;
        sourced = true;
        write_text_source(out, &sources, frame);
    }
    if (count > FRAMES_WRITTEN)
        text_appendf(out, "     ... %zu more\n", count - FRAMES_WRITTEN);
    write_text_heap(out, report);
    write_text_registers(out, thread);
    write_text_around(out, report);
    write_other_threads(out, report, thread);
}
