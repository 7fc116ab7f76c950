// SPDX-License-Identifier: Apache-2.0
//
// How it works: render_report writes the sections of a report in a fixed order:
// summary, header (program, host, termination, tags), standard error, breadcrumbs,
// data, attachments, the crashed thread, the stack of the exception, watches,
// registers with the code and memory around the crash, flight events, waits, other
// threads, images, problems, timings. A section without content writes nothing.
//
// The preset decides which sections there are: FRIENDLY has neither host nor images and
// gives other threads one line each, FULL adds registers, code, memory and timings and
// cuts no texts.
//
// Each section is a function of struct render and reads the report alone; frames,
// threads, values and what is around a crash are in files of their own (render_frames,
// render_values). Texts of the report reach the output through pen_text and pen_bytes,
// which escape control characters (pen.h).
#include "cli/render/render.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/render/pen.h"
#include "cli/render/render_frames.h"
#include "cli/render/render_values.h"
#include "report/summary/crash_words.h"
#include "report/summary/report_waits.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"

// Which thread waits for which, in the terminal: a line for each thread that sleeps on
// a lock.
//
// At most 32 lines are written; the rest is counted.

enum { LINES_MAX = 32 };

static void render_wait(const struct pen *pen, const json_t *report, const json_t *wait)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    const json_t *thread = report_wait_thread(report, wait);
    text_append_string(&line, "Thread ");
    render_threads_append_name(thread != NULL ? thread : wait, &line);
    text_append_string(&line, " ");
    report_wait_append(wait, &line);
    pen_plain(pen, "  ");
    pen_text(pen, line.bytes);
    pen_plain(pen, "\n");
}

// render_waits_write writes a section with a line for each thread that waits for a
// lock, or nothing if none does; owned: only waits for what is known to be held.
static void render_waits_write(const struct pen *pen, const json_t *report, bool owned)
{
    const json_t *waits = report_waits(report);
    size_t shown = 0;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(waits); i++) {
        const json_t *wait = json_array_get(waits, i);
        if (owned && report_integer(wait, "owner", 0) == 0)
            continue;
        if (count++ == 0) {
            pen_set(pen, PEN_BOLD);
            pen_plain(pen, "\nWaiting:\n");
            pen_set(pen, PEN_PLAIN);
        }
        if (shown == LINES_MAX)
            continue;
        shown++;
        render_wait(pen, report, wait);
    }
    if (count > shown)
        pen_plain(pen, "  and %zu more\n", count - shown);
}

// The source lines around a frame (report/value/frame_source.h) in a terminal.

enum { CONTEXT_LINES = 2 };

static void render_source_line(const struct pen *pen, int64_t number, const char *text,
                               bool marked)
{
    pen_set(pen, marked ? PEN_BOLD : PEN_DIM);
    pen_plain(pen, "    %s%6" PRId64 " | ", marked ? ">" : " ", number);
    pen_text(pen, text);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

static void render_source_warning(const struct pen *pen, enum frame_source_state state)
{
    static const char *const words[] = {
        [FRAME_SOURCE_CHANGED] =
            "This file has changed since the program was built: the line "
            "that ran may be another.",
        [FRAME_SOURCE_UNCHECKED] =
            "Whether this is the file that was built is not known.",
    };
    if (state == FRAME_SOURCE_BUILT)
        return;
    pen_set(pen, PEN_ALARM);
    pen_plain(pen, "    %s", words[state]);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

// render_source_write writes a few lines around the line of a frame of report. The line
// is marked if the file is the one that was built; otherwise there is a warning.
// False: nothing is written, because there is no file, or it is no text or too large.
static bool render_source_write(const struct pen *pen, const json_t *report,
                                const json_t *frame, const struct cursor *sources)
{
    struct frame_source source;
    int64_t line = report_integer(frame, "line", 0);
    if (frame_source_read(report, frame, CONTEXT_LINES, sources, &source) != CH_OK)
        return false;
    pen_plain(pen, "\n");
    render_source_warning(pen, source.state);
    for (size_t i = 0; i < source.count; i++) {
        int64_t number = source.first + (int64_t)i;
        render_source_line(pen, number, source.lines[i],
                           number == line && source.state != FRAME_SOURCE_CHANGED);
    }
    frame_source_deinit(&source);
    return true;
}

// The flight record: what each thread called last, deeper calls indented further, with
// times before the crash. Part of render.h.

// INDENT_MAX is the depth from which calls are not indented further.
enum { INDENT_MAX = 24, TIME_WIDTH = 12, THREADS_MAX = 32 };

// render_flight_time writes a time in the largest unit of which it is at least one.
static void render_flight_time(const struct pen *pen, int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    size_t unit = 0;
    char number[48];
    char text[64];
    while (unit < 3 && size < (uint64_t)units[unit].ns)
        unit++;
    (void)snprintf(number, sizeof(number), "%s%.*f", ns < 0 ? "-" : "+",
                   unit == 3 ? 0 : 3, (double)size / (double)units[unit].ns);
    (void)snprintf(text, sizeof(text), "%s %s", number, units[unit].name);
    pen_plain(pen, "    %*s  ", TIME_WIDTH, text);
}

// render_flight_call writes a call's function, and the argument recorded with it.
static void render_flight_call(const struct pen *pen, const json_t *call)
{
    const char *name = report_string(call, "function");
    const char *argument =
        json_string_value(json_array_get(json_object_get(call, "arguments"), 0));
    if (name == NULL)
        name = report_string(call, "address");
    pen_set(pen, PEN_NAME);
    pen_text(pen, name != NULL ? name : "?");
    pen_set(pen, PEN_PLAIN);
    if (argument == NULL)
        return;
    pen_plain(pen, " (");
    pen_text(pen, argument);
    pen_plain(pen, ")");
}

static void render_flight_event(const struct pen *pen, const json_t *event)
{
    const char *action = report_string(event, "action");
    int64_t depth = report_integer(event, "depth", 0);
    bool entry = action != NULL && strncmp(action, "enter", 5) == 0;
    if (depth < 0)
        depth = 0;
    render_flight_time(pen, report_integer(event, "t_ns", 0));
    pen_plain(pen, "%*s%s ", (int)(depth < INDENT_MAX ? depth : INDENT_MAX) * 2, "",
              entry ? ">" : "<");
    render_flight_call(pen, event);
    pen_plain(pen, "\n");
}

static const json_t *rendered_thread_of(const json_t *report, int64_t tid)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (report_integer(thread, "tid", 0) == tid)
            return thread;
    }
    return NULL;
}

// append_open writes how many calls were open, and if all of them are on the stack.
static void append_open(const json_t *flight, struct text *out)
{
    size_t open = json_array_size(json_object_get(flight, "open_calls"));
    int64_t found = report_integer(flight, "open_on_stack", -1);
    if (report_flag(flight, "ended"))
        text_append_string(out, ", which had ended");
    text_appendf(out, ", %zu open call%s", open, open == 1 ? "" : "s");
    if (open != 0 && found >= 0 && (size_t)found == open)
        text_append_string(out, open == 1 ? ", on its stack" : ", all on its stack");
    else if (open != 0 && found >= 0)
        text_appendf(out, ", %" PRId64 " of them on its stack", found);
    int64_t dropped = report_integer(flight, "dropped", 0);
    if (dropped > 0)
        text_appendf(out, ", %" PRId64 " records dropped", dropped);
}

static void render_flight_header(const struct pen *pen, const json_t *report,
                                 const json_t *flight)
{
    int64_t tid = report_integer(flight, "tid", 0);
    const json_t *thread = rendered_thread_of(report, tid);
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    text_append_string(&line, "  Thread ");
    if (thread != NULL && !report_flag(flight, "ended"))
        render_threads_append_name(thread, &line);
    else
        text_appendf(&line, "%" PRId64, tid);
    append_open(flight, &line);
    pen_plain(pen, "%s\n", text_ok(&line) ? line.bytes : "  Thread");
}

// render_flight_write writes the last events of each thread: `most` for the crashed
// thread, a quarter of that for the others; without a flight record, nothing.
static void render_flight_write(const struct pen *pen, const json_t *report,
                                size_t most)
{
    const json_t *threads =
        json_object_get(json_object_get(report, "flight"), "threads");
    const json_t *crash = json_object_get(report, "crash");
    if (json_array_size(threads) == 0)
        return;
    pen_set(pen, PEN_BOLD);
    pen_plain(pen, "\nLast calls%s:\n", crash != NULL ? " before the crash" : "");
    pen_set(pen, PEN_PLAIN);
    size_t thread_count = json_array_size(threads);
    for (size_t i = 0; i < thread_count && i < THREADS_MAX; i++) {
        const json_t *flight = json_array_get(threads, i);
        const json_t *events = json_object_get(flight, "events");
        size_t count = json_array_size(events);
        bool crashed =
            report_integer(flight, "tid", 0) == report_integer(crash, "thread", -1);
        size_t shown = crashed ? most : most / 4;
        render_flight_header(pen, report, flight);
        for (size_t k = count < shown ? 0 : count - shown; k < count; k++)
            render_flight_event(pen, json_array_get(events, k));
    }
    if (thread_count > THREADS_MAX)
        pen_plain(pen, "  and %zu threads more\n", thread_count - THREADS_MAX);
}

enum { NARROWEST = 40, MESSAGE_LINES_MAX = 20, STDERR_LINES_MAX = 40 };

// MEDIUM_LINES and FULL_LINES are how many lines of a watched object are shown.
enum { MEDIUM_LINES = 40, FULL_LINES = 1000 };

struct render {
    struct pen pen;
    const json_t *report;
    enum setting_preset preset;
    enum setting_registers registers;
    bool crashed_only;
    bool linker_names;
    struct cursor sources;
};

struct render_style render_style_for(FILE *to, enum setting_preset preset)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    struct winsize size = { 0 };
    bool terminal = to != NULL && isatty(pager_descriptor(to)) != 0;
    struct render_style style = { .preset = preset };
    if (preset == PRESET_AUTO)
        style.preset = terminal ? PRESET_FRIENDLY : PRESET_MEDIUM;
    if (!terminal)
        return style;
    style.colour = (no_colour == NULL || *no_colour == 0) && term != NULL &&
                   strcmp(term, "dumb") != 0;
    if (ioctl(pager_descriptor(to), TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROWEST)
        style.width = size.ws_col;
    return style;
}

struct render_style render_style_set(FILE *to, const struct settings *settings)
{
    struct render_style style = render_style_for(to, settings->preset);
    style.registers = settings->registers;
    style.linker_names = settings->demangle == SETTING_NO;
    if (settings->color != SETTING_TTY)
        style.colour = settings->color == SETTING_YES;
    return style;
}

// render_crash_place writes " in FUNCTION at FILE:LINE" for the frame to look at first.
static void render_crash_place(const struct render *render)
{
    struct text CH_CLEANUP(text_deinit) place = { 0 };
    const json_t *frame =
        render_frames_place(render->report, report_crashed_thread(render->report));
    if (frame == NULL)
        return;
    text_append_string(&place, report_string(frame, "function") ? " in " : " at ");
    render_frames_append_name(render->report, frame,
                              render->linker_names ? NAME_LINKER : NAME_SHORT, &place);
    if (report_string(frame, "file") != NULL) {
        text_append_string(&place, " at ");
        render_frames_append_line(frame, true, &place);
    }
    pen_plain(&render->pen, "%s", place.size != 0 ? place.bytes : "");
}

// write_summary writes the line that must be enough for a reader in a hurry.
static void write_summary(const struct render *render)
{
    const struct pen *pen = &render->pen;
    const json_t *process = json_object_get(render->report, "process");
    const json_t *crash = json_object_get(render->report, "crash");
    const char *program = report_program(render->report);

    pen_set(pen, PEN_BOLD);
    pen_text(pen, program != NULL ? program : "a program");
    if (!json_is_object(crash)) {
        size_t threads = json_array_size(json_object_get(render->report, "threads"));
        pen_plain(pen, ": process %" PRId64 " and its %zu thread%s\n",
                  report_integer(process, "pid", 0), threads, threads == 1 ? "" : "s");
        pen_set(pen, PEN_PLAIN);
        struct text CH_CLEANUP(text_deinit) deadlock = { 0 };
        if (report_deadlock(render->report, &deadlock)) {
            pen_text(pen, deadlock.bytes);
            pen_plain(pen, "\n");
        }
        return;
    }
    pen_plain(pen, ": ");
    pen_set(pen, PEN_ALARM);
    const json_t *status =
        json_object_get(json_object_get(crash, "death"), "exit_status");
    if (status != NULL) // the signal is the one that a panic would raise
        pen_plain(pen, "exit status %" JSON_INTEGER_FORMAT, json_integer_value(status));
    else
        pen_text(pen, report_string(crash, "name"));
    pen_set(pen, PEN_BOLD);
    render_crash_place(render);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
    if (report_string(crash, "summary") != NULL) {
        pen_text(pen, report_string(crash, "summary"));
        pen_plain(pen, "\n");
    }
    pen_lines(pen, report_unsaid_message(crash), MESSAGE_LINES_MAX);
    struct text CH_CLEANUP(text_deinit) then = { 0 };
    report_then(crash, &then);
    if (then.size != 0) {
        pen_text(pen, then.bytes);
        pen_plain(pen, "\n");
    }
}

// render_field writes "Label value", with the values in one column.
static void render_field(const struct pen *pen, const char *label, const char *value)
{
    if (value == NULL || *value == 0)
        return;
    pen_set(pen, PEN_DIM);
    pen_plain(pen, "%-12s", label);
    pen_set(pen, PEN_PLAIN);
    pen_text(pen, value);
    pen_plain(pen, "\n");
}

static void append_duration(int64_t ms, struct text *out)
{
    if (ms < 60000)
        text_appendf(out, "%" PRId64 ".%03" PRId64 " s", ms / 1000, ms % 1000);
    else if (ms < 3600000)
        text_appendf(out, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms / 1000 % 60);
    else if (ms < 86400000)
        text_appendf(out, "%" PRId64 " h %" PRId64 " min", ms / 3600000,
                     ms / 60000 % 60);
    else
        text_appendf(out, "%" PRId64 " d %" PRId64 " h", ms / 86400000,
                     ms / 3600000 % 24);
}

static void write_text_field(const struct pen *pen, const char *label,
                             const struct text *value)
{
    render_field(pen, label, value->size != 0 ? value->bytes : NULL);
}

static void write_program(const struct render *render)
{
    const struct pen *pen = &render->pen;
    const json_t *process = json_object_get(render->report, "process");
    const json_t *arguments = json_object_get(process, "arguments");
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    struct text CH_CLEANUP(text_deinit) facts = { 0 };
    int64_t uptime = report_integer(process, "uptime_ms", -1);

    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *argument = json_string_value(json_array_get(arguments, i));
        text_appendf(&line, "%s%s", i != 0 ? " " : "",
                     argument != NULL ? argument : "");
    }
    if (line.size == 0 && report_string(process, "executable") != NULL)
        text_append_string(&line, report_string(process, "executable"));
    text_appendf(&facts, "%" PRId64, report_integer(process, "pid", 0));
    if (uptime >= 0) {
        text_append_string(&facts, ", ran for ");
        append_duration(uptime, &facts);
    }
    write_text_field(pen, "Program", &line);
    write_text_field(pen, "Process", &facts);
    render_field(pen, "Time", report_string(render->report, "time"));
    render_field(pen, "Release", report_string(render->report, "release"));
    render_field(pen, "Environment", report_string(render->report, "environment"));
}

static void render_tags(const struct render *render)
{
    const char *key;
    json_t *value;
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    json_object_foreach(json_object_get(render->report, "tags"), key, value)
    {
        const char *text = json_string_value(value);
        text_appendf(&line, "%s%s=%s", line.size != 0 ? ", " : "", key,
                     text != NULL ? text : "?");
    }
    write_text_field(&render->pen, "Tags", &line);
}

static void render_host(const struct render *render)
{
    const json_t *host = json_object_get(render->report, "host");
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    static const char *const keys[] = { "hostname", "os", "kernel", "arch" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = report_string(host, keys[i]);
        if (value != NULL)
            text_appendf(&line, "%s%s", line.size != 0 ? ", " : "", value);
    }
    write_text_field(&render->pen, "Host", &line);
    const json_t *process = json_object_get(render->report, "process");
    render_field(&render->pen, "Directory",
                 report_string(process, "working_directory"));
}

// render_termination shows what a process that was killed used, and the kernel's word.
static void render_termination(const struct render *render)
{
    const json_t *termination =
        json_object_get(json_object_get(render->report, "crash"), "death");
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    if (memory_words_append(render->report, &memory))
        write_text_field(&render->pen, "Memory", &memory);
    render_field(&render->pen, "Kernel", report_string(termination, "kernel"));
}

static void render_said(const struct render *render, const char *what, const char *text)
{
    bool full = render->preset == PRESET_FULL;
    if (text == NULL)
        return;
    pen_plain(&render->pen, "\n%s:\n", what);
    pen_lines(&render->pen, text, full ? INT_MAX : STDERR_LINES_MAX);
}

// render_stderr writes what the program said last. After an exit, its stack is in it.
static void render_stderr(const struct render *render)
{
    const json_t *crash = json_object_get(render->report, "crash");
    const json_t *streams = json_object_get(crash, "unwritten");
    const char *said = report_string(json_object_get(crash, "death"), "stderr");
    render_said(render, "Standard error", said ? said : report_string(crash, "stderr"));
    for (size_t i = 0; i < json_array_size(streams); i++) {
        said = report_string(json_array_get(streams, i), "text");
        render_said(render, "Logged, not yet written", said);
    }
}

static void render_header(const struct render *render)
{
    pen_plain(&render->pen, "\n");
    render_field(&render->pen, "Kind",
                 report_string(json_object_get(render->report, "crash"), "kind"));
    write_program(render);
    if (render->preset != PRESET_FRIENDLY)
        render_host(render);
    render_termination(render);
    render_tags(render);
    render_field(&render->pen, "Report", report_string(render->report, "id"));
}

static struct render_frames rendered_frames_of(const struct render *render)
{
    return (struct render_frames){ .pen = &render->pen,
                                   .report = render->report,
                                   .addresses = render->preset == PRESET_FULL,
                                   .linker_names = render->linker_names };
}

static void write_crashed_thread(const struct render *render)
{
    enum { AROUND_WITHOUT_SOURCE = 3 };
    const json_t *thread = report_crashed_thread(render->report);
    const json_t *frame = render_frames_place(render->report, thread);
    const struct render_frames frames = rendered_frames_of(render);
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    if (thread == NULL)
        return;
    render_threads_append_name(thread, &name);
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nThread %s crashed:\n", name.bytes);
    pen_set(&render->pen, PEN_PLAIN);
    render_frames_write(&frames, thread);
    if (render->preset == PRESET_FRIENDLY && frame != NULL &&
        !render_source_write(&render->pen, render->report, frame, &render->sources))
        render_around_code(&render->pen, render->report, AROUND_WITHOUT_SOURCE);
}

// register_padding is the space that fills a register's value up to its column.
static int register_padding(size_t used)
{
    enum { VALUE_COLUMNS = 18 };
    return used < VALUE_COLUMNS ? (int)(VALUE_COLUMNS - used) : 1;
}

// register_columns is how many registers fit a line.
static size_t register_columns(const struct pen *pen)
{
    enum { COLUMN = 28, MOST = 4 };
    size_t fit = pen->width / COLUMN;
    return pen->width == 0 || fit >= MOST ? MOST : fit != 0 ? fit : 1;
}

static void render_thread_registers(const struct render *render, const json_t *thread)
{
    const size_t columns = register_columns(&render->pen);
    const char *name;
    json_t *value;
    size_t column = 0;
    const json_t *registers = json_object_get(thread, "registers");
    size_t count = json_object_size(registers);
    if (count == 0)
        return;
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nRegisters");
    if (render->registers == REGISTERS_ALL)
        pen_plain(&render->pen, " of thread %" PRId64,
                  report_integer(thread, "tid", 0));
    pen_plain(&render->pen, ":\n");
    pen_set(&render->pen, PEN_PLAIN);
    json_object_foreach((json_t *)(uintptr_t)registers, name, value)
    {
        struct text CH_CLEANUP(text_deinit) escaped = { 0 };
        pen_escape(name, &escaped);
        const char *text = json_string_value(value);
        pen_plain(&render->pen, "  %7s ", escaped.size != 0 ? escaped.bytes : "");
        text_clear(&escaped);
        pen_escape(text != NULL ? text : "?", &escaped);
        pen_plain(&render->pen, "%s", escaped.size != 0 ? escaped.bytes : "");
        if (++column % columns == 0)
            pen_plain(&render->pen, "\n");
        else if (column != count)
            pen_plain(&render->pen, "%*s", register_padding(escaped.size), "");
    }
    if (column % columns != 0)
        pen_plain(&render->pen, "\n");
}

// render_registers writes the registers of the threads that were chosen.
static void render_registers(const struct render *render)
{
    const json_t *threads = json_object_get(render->report, "threads");
    bool crashed =
        render->registers == REGISTERS_CRASHED ||
        (render->registers == REGISTERS_AUTO && render->preset == PRESET_FULL);
    if (crashed)
        render_thread_registers(render, report_crashed_thread(render->report));
    for (size_t i = 0;
         render->registers == REGISTERS_ALL && i < json_array_size(threads); i++)
        render_thread_registers(render, json_array_get(threads, i));
}

static void mark_mentioned(const json_t *report, bool *mentioned, size_t count)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = report_frames(json_array_get(threads, i));
        for (size_t k = 0; k < json_array_size(frames); k++) {
            int64_t image = report_integer(json_array_get(frames, k), "image", -1);
            if (image >= 0 && (uint64_t)image < count)
                mentioned[image] = true;
        }
    }
}

static void render_image(const struct pen *pen, const json_t *image)
{
    const char *path = report_string(image, "path");
    const char *build_id = report_string(image, "build_id");
    pen_plain(pen, "  ");
    pen_text(pen, report_string(image, "base"));
    pen_plain(pen, "  ");
    pen_text(pen, path != NULL ? path : report_string(image, "name"));
    pen_set(pen, PEN_DIM);
    pen_plain(pen, "  ");
    pen_text(pen, build_id != NULL ? build_id : "without a build id");
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

// render_images lists the images of frames, or all images in a full report.
static void render_images(const struct render *render)
{
    const json_t *images = json_object_get(render->report, "images");
    size_t count = json_array_size(images);
    bool *mentioned = calloc(count + 1, sizeof(*mentioned));
    if (mentioned == NULL || count == 0) {
        free(mentioned);
        return;
    }
    mark_mentioned(render->report, mentioned, count);
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nImages:\n");
    pen_set(&render->pen, PEN_PLAIN);
    for (size_t i = 0; i < count; i++) {
        if (mentioned[i] || render->preset == PRESET_FULL)
            render_image(&render->pen, json_array_get(images, i));
    }
    free(mentioned);
}

static void render_breadcrumbs(const struct render *render)
{
    const json_t *crumbs = json_object_get(render->report, "breadcrumbs");
    if (json_array_size(crumbs) == 0)
        return;
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nBefore the crash:\n");
    pen_set(&render->pen, PEN_PLAIN);
    for (size_t i = 0; i < json_array_size(crumbs); i++) {
        const json_t *crumb = json_array_get(crumbs, i);
        pen_plain(&render->pen, "  ");
        pen_text(&render->pen, report_string(crumb, "time"));
        pen_plain(&render->pen, "  ");
        pen_text(&render->pen, report_string(crumb, "message"));
        pen_plain(&render->pen, "\n");
    }
}

// last_lines is the start of the last count lines of text.
static const char *last_lines(const char *text, size_t count)
{
    const char *at = text + strlen(text);
    if (at != text && at[-1] == '\n')
        at--;
    while (at != text && (at[-1] != '\n' || --count != 0))
        at--;
    return at;
}

static void render_text_lines(const struct render *render, const char *text)
{
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        json_t *line = json_stringn(text, length);
        pen_plain(&render->pen, "  ");
        pen_text(&render->pen, line != NULL ? json_string_value(line) : "");
        pen_plain(&render->pen, "\n");
        json_decref(line);
        text += length + (text[length] == '\n');
    }
}

// render_data lists the longer texts that the program attached about itself.
static void render_data(const struct render *render)
{
    json_t *data = json_object_get(render->report, "user_data");
    const char *name;
    json_t *value;
    if (json_object_size(data) == 0)
        return;
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nData:\n");
    pen_set(&render->pen, PEN_PLAIN);
    json_object_foreach(data, name, value)
    {
        pen_plain(&render->pen, "  ");
        pen_text(&render->pen, name);
        pen_plain(&render->pen, ": ");
        pen_text(&render->pen, json_string_value(value));
        pen_plain(&render->pen, "\n");
    }
}

// render_attachments shows the last lines of attached texts, or all lines in a full
// report.
static void render_attachments(const struct render *render)
{
    enum { LINES = 10 };
    const json_t *attachments = json_object_get(render->report, "attachments");
    for (size_t i = 0; i < json_array_size(attachments); i++) {
        const json_t *attachment = json_array_get(attachments, i);
        const char *text = report_string(attachment, "text");
        const char *problem = report_string(attachment, "problem");
        pen_set(&render->pen, PEN_BOLD);
        pen_plain(&render->pen, "\nThe end of ");
        pen_text(&render->pen, report_string(attachment, "path"));
        pen_plain(&render->pen, ":\n");
        pen_set(&render->pen, PEN_PLAIN);
        if (text != NULL && render->preset != PRESET_FULL)
            text = last_lines(text, LINES);
        if (text != NULL)
            render_text_lines(render, text);
        else
            pen_plain(&render->pen, problem != NULL ? "  not read: " : "  not text");
        if (text == NULL && problem != NULL)
            pen_text(&render->pen, problem);
        pen_plain(&render->pen, text == NULL ? "\n" : "");
    }
}

static void render_problems(const struct render *render)
{
    const json_t *problems = json_object_get(render->report, "problems");
    if (json_array_size(problems) == 0)
        return;
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nProblems while reporting:\n");
    pen_set(&render->pen, PEN_PLAIN);
    for (size_t i = 0; i < json_array_size(problems); i++) {
        const json_t *problem = json_array_get(problems, i);
        const char *address = report_string(problem, "address");
        pen_plain(&render->pen, "  ");
        pen_text(&render->pen, report_string(problem, "stage"));
        pen_plain(&render->pen, ": ");
        pen_text(&render->pen, report_string(problem, "status"));
        pen_plain(&render->pen, address != NULL ? " at " : "");
        pen_text(&render->pen, address);
        pen_plain(&render->pen, "\n");
    }
}

static void write_timings(const struct render *render)
{
    const char *stage;
    json_t *value;
    const json_t *agent = json_object_get(render->report, "agent");
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    json_object_foreach(json_object_get(agent, "timings_us"), stage, value)
    {
        text_appendf(&line, "%s%s %" JSON_INTEGER_FORMAT " us",
                     line.size != 0 ? ", " : "", stage, json_integer_value(value));
    }
    pen_plain(&render->pen, "\n");
    render_field(&render->pen, "Agent", report_string(agent, "version"));
    render_field(&render->pen, "Tier", report_string(agent, "tier"));
    write_text_field(&render->pen, "Timings", &line);
    render_field(&render->pen, "Group", report_string(render->report, "fingerprint"));
}

// flight_events is how many calls before the crash are shown for the crashed thread.
static size_t flight_events(const struct render *render)
{
    static const size_t events[] = {
        [PRESET_FRIENDLY] = 8, [PRESET_MEDIUM] = 24, [PRESET_FULL] = 256
    };
    return events[render->preset];
}

// render_throw writes the stack that the exception was thrown with.
static void render_throw(const struct render *render)
{
    const json_t *exception =
        json_object_get(json_object_get(render->report, "crash"), "exception");
    const struct render_frames frames = rendered_frames_of(render);
    if (json_array_size(report_frames(exception)) == 0)
        return;
    pen_set(&render->pen, PEN_BOLD);
    pen_plain(&render->pen, "\nThrown here, by thread %" PRId64 ":\n",
              report_integer(json_object_get(exception, "backtrace"), "thread", 0));
    pen_set(&render->pen, PEN_PLAIN);
    render_frames_write(&frames, exception);
}

// render_heap writes the stacks that the misused block was freed and allocated with.
static void render_heap(const struct render *render)
{
    const json_t *crash = json_object_get(render->report, "crash");
    const json_t *heap = json_object_get(crash, "heap");
    const struct render_frames frames = rendered_frames_of(render);
    struct crash_heap facts;
    crash_words_heap(crash, &facts);
    const struct {
        const char *title;
        const json_t *event;
        const struct crash_heap_event *facts;
    } parts[] = {
        { "Freed", json_object_get(heap, "freed"), &facts.freed },
        { "Allocated", json_object_get(heap, "allocated"), &facts.allocated },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct text CH_CLEANUP(text_deinit) words = { 0 };
        if (json_array_size(report_frames(parts[i].event)) == 0)
            continue;
        crash_heap_append_event(parts[i].facts, &words);
        pen_set(&render->pen, PEN_BOLD);
        pen_plain(&render->pen, "\n%s here, ", parts[i].title);
        pen_text(&render->pen, text_ok(&words) ? words.bytes : "");
        pen_plain(&render->pen, ":\n");
        pen_set(&render->pen, PEN_PLAIN);
        render_frames_write(&frames, parts[i].event);
    }
}

void render_report(const json_t *report, const struct render_style *style, FILE *to)
{
    const struct render render = {
        .pen = { .to = to, .colour = style->colour, .width = style->width },
        .report = report,
        .preset = style->preset == PRESET_AUTO ? PRESET_MEDIUM : style->preset,
        .registers = style->registers,
        .crashed_only = style->crashed_only,
        .linker_names = style->linker_names,
        .sources = style->sources,
    };
    const struct render_frames frames = rendered_frames_of(&render);
    bool live = report_crashed_thread(report) == NULL;

    write_summary(&render);
    render_header(&render);
    render_stderr(&render);
    render_breadcrumbs(&render);
    render_data(&render);
    render_attachments(&render);
    write_crashed_thread(&render);
    render_throw(&render);
    render_heap(&render);
    render_values_watches(&render.pen, report,
                          render.preset == PRESET_FULL ? FULL_LINES : MEDIUM_LINES);
    render_registers(&render);
    if (render.preset == PRESET_FULL)
        render_around_write(&render.pen, report, render.registers != REGISTERS_NONE);
    render_flight_write(&render.pen, report, flight_events(&render));
    if (!render.crashed_only) {
        render_waits_write(&render.pen, report,
                           render.preset == PRESET_FRIENDLY && !live);
        render_threads_write(&frames, render.preset == PRESET_FRIENDLY && !live);
        render_goroutines_write(&frames, render.preset == PRESET_FRIENDLY && !live);
    }
    if (render.preset != PRESET_FRIENDLY && !style->no_images)
        render_images(&render);
    render_problems(&render);
    if (render.preset == PRESET_FULL)
        write_timings(&render);
}

// whole_lines is how many of the size bytes at text fit into limit without cutting a
// line, or a single line that is longer.
static size_t whole_lines(const char *text, size_t size, size_t limit)
{
    if (size <= limit)
        return size;
    const char *end = memrchr(text, '\n', limit);
    return end != NULL ? (size_t)(end + 1 - text) : limit;
}

size_t render_report_text(const json_t *report, const struct render_style *style,
                          size_t limit_bytes, struct text *out)
{
    char *shown = NULL;
    size_t size = 0;
    size_t kept = 0;
    FILE *memory = open_memstream(&shown, &size);
    if (memory == NULL)
        return 0;
    render_report(report, style, memory);
    if (fclose(memory) == 0) {
        kept = whole_lines(shown, size, limit_bytes);
        text_append(out, shown, kept);
    }
    free(shown);
    return size - kept;
}
