// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_flight.h"

#include <inttypes.h>
#include <string.h>

#include "cli/render/render_threads.h"
#include "report/value/report.h"

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

// render_flight_call writes a call's function, and the argument that was recorded with
// it.
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

// append_open says how many calls were open, and whether all of them are on the stack.
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

void render_flight_write(const struct pen *pen, const json_t *report, size_t most)
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
