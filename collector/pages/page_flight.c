// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "report/summary/readable_name.h"
#include "report/value/report.h"

// Limits of what is drawn and listed of a thread: its last events, down to a depth.
enum {
    THREADS_SHOWN = 20,
    EVENTS_DRAWN = 2000,
    EVENTS_LISTED = 100,
    DEPTHS_DRAWN = 24,
    LANE = 14, // height of one depth in the picture
    WIDTH = 1000,
    INDENT_MAX = 24,
    OPEN_SHOWN = 64,
};

// picture is the drawing of a thread; its width shows the time from first_ns to
// last_ns.
struct picture {
    struct text *out;
    int64_t first_ns;
    int64_t last_ns;
    const json_t *open[DEPTHS_DRAWN]; // entries whose exit was not drawn yet
};

static bool is_call_entry(const json_t *event)
{
    const char *action = report_string(event, "action");
    return action != NULL && strncmp(action, "enter", 5) == 0;
}

static int64_t time_of(const json_t *event)
{
    return report_integer(event, "t_ns", 0);
}

// write_flight_call writes the name of an event's function, or its address.
static void write_flight_call(struct text *out, const json_t *event)
{
    struct text name = { 0 };
    const char *function = report_string(event, "function");
    if (function != NULL)
        readable_name(function, &name);
    const char *shown =
        name.bytes != NULL ? name.bytes : report_string(event, "address");
    html_write(out, "%.*s", PAGE_SHORT, shown != NULL ? shown : "?");
    text_deinit(&name);
}

// write_span writes a time in the largest unit of which it is at least one.
static void write_span(struct text *out, int64_t ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "\u00b5s" }, { 1, "ns" } };
    double size = ns < 0 ? -(double)ns : (double)ns;
    size_t unit = 0;
    char number[48];
    while (unit < 3 && size < units[unit].ns)
        unit++;
    snprintf(number, sizeof(number), "%s%.*f", ns < 0 ? "\u2212" : "",
             unit == 3 ? 0 : 3, size / units[unit].ns);
    html_write(out, "%s\u2009%s", number, units[unit].name);
}

static int place_of_flight_call(const struct picture *picture, int64_t ns)
{
    double span = (double)picture->last_ns - (double)picture->first_ns;
    double part = span > 0 ? ((double)ns - (double)picture->first_ns) / span : 0;
    return part < 0 ? 0 : part > 1 ? WIDTH : (int)(part * WIDTH);
}

// draw_call draws a call from its entry (NULL: before the first event drawn) to its
// exit (NULL: it had not returned).
static void draw_call(struct picture *picture, int depth, const json_t *entry,
                      const json_t *end)
{
    int64_t end_ns = end != NULL ? time_of(end) : picture->last_ns;
    int64_t begin_ns = entry != NULL ? time_of(entry) : picture->first_ns;
    int left = place_of_flight_call(picture, begin_ns);
    int width = place_of_flight_call(picture, end_ns) - left;
    html_write(picture->out,
               "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\""
               " rx=\"1\"><title>",
               end == NULL ? "open" : "call", left, depth * LANE, width > 2 ? width : 2,
               LANE - 2);
    write_flight_call(picture->out, entry != NULL ? entry : end);
    html_write(picture->out, ": ");
    write_span(picture->out, end_ns - begin_ns);
    html_write(picture->out, "%s</title></rect>",
               end == NULL ? ", had not returned" : "");
}

static void draw_event(struct picture *picture, const json_t *event)
{
    int64_t depth = report_integer(event, "depth", 0);
    if (depth < 0 || depth >= DEPTHS_DRAWN)
        return;
    if (is_call_entry(event)) {
        picture->open[depth] = event;
        return;
    }
    draw_call(picture, (int)depth, picture->open[depth], event);
    picture->open[depth] = NULL;
}

static int deepest_level(const json_t *events, size_t first)
{
    int64_t depths = 1;
    for (size_t i = first; i < json_array_size(events); i++) {
        int64_t depth = report_integer(json_array_get(events, i), "depth", 0) + 1;
        depths = depth > depths ? depth : depths;
    }
    return depths > DEPTHS_DRAWN ? DEPTHS_DRAWN : (int)depths;
}

static void draw_calls(struct text *out, const json_t *events, const char *moment)
{
    size_t count = json_array_size(events);
    size_t first = count > EVENTS_DRAWN ? count - EVENTS_DRAWN : 0;
    int64_t last_ns = time_of(json_array_get(events, count - 1));
    struct picture picture = { .out = out,
                               .first_ns = time_of(json_array_get(events, first)),
                               .last_ns = last_ns < 0 ? 0 : last_ns };
    html_write(
        out,
        "<svg class=\"flight\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\""
        " role=\"img\" aria-label=\"Calls over time\">",
        WIDTH, deepest_level(events, first) * LANE);
    for (size_t i = first; i < count && !page_is_full(out); i++)
        draw_event(&picture, json_array_get(events, i));
    for (int depth = 0; depth < DEPTHS_DRAWN; depth++) {
        if (picture.open[depth] != NULL)
            draw_call(&picture, depth, picture.open[depth], NULL);
    }
    html_write(out, "</svg><p class=\"axis\"><span>");
    write_span(out, picture.first_ns);
    html_write(out, "</span><span>%s</span></p>", moment);
}

static void write_flight_event(struct text *out, const json_t *event)
{
    int64_t depth = report_integer(event, "depth", 0);
    html_write(out, "<li><span class=\"at\">");
    write_span(out, time_of(event));
    html_write(out, "</span><code>");
    for (int64_t i = 0; i < depth && i < INDENT_MAX; i++)
        text_append_string(out, "\u00a0\u00a0");
    html_write(out, "%s ", is_call_entry(event) ? "\u2192" : "\u2190");
    write_flight_call(out, event);
    const char *argument =
        json_string_value(json_array_get(json_object_get(event, "arguments"), 0));
    if (argument != NULL)
        html_write(out, " <i>%.*s</i>", 24, argument);
    html_write(out, "</code></li>\n");
}

static void write_open_call(struct text *out, const json_t *thread)
{
    const json_t *calls = json_object_get(thread, "open_calls");
    size_t count = json_array_size(calls);
    if (count == 0)
        return;
    html_write(out, "<p class=\"cut\">Had not returned, outermost first: ");
    for (size_t i = count > OPEN_SHOWN ? count - OPEN_SHOWN : 0; i < count; i++)
        html_write(out, "<code>%.*s</code>%s", PAGE_SHORT,
                   json_string_value(json_array_get(calls, i)),
                   i + 1 < count ? " \u203a " : "");
    html_write(out, "</p>");
}

static void write_thread_flight(struct text *out, const json_t *thread,
                                const char *moment)
{
    const json_t *events = json_object_get(thread, "events");
    size_t count = json_array_size(events);
    int64_t dropped = report_integer(thread, "dropped", 0);
    html_write(out, "<h3>Thread %lld <small>%zu events%s</small></h3>",
               (long long)report_integer(thread, "tid", 0), count,
               report_flag(thread, "ended") ? ", it had ended" : "");
    if (count == 0)
        return;
    draw_calls(out, events, moment);
    write_open_call(out, thread);
    size_t first = count > EVENTS_LISTED ? count - EVENTS_LISTED : 0;
    html_write(out,
               "<details class=\"inner\"><summary>The last %zu events</summary>"
               "<ol class=\"events\">\n",
               count - first);
    for (size_t i = first; i < count && !page_is_full(out); i++)
        write_flight_event(out, json_array_get(events, i));
    html_write(out, "</ol></details>");
    if (dropped > 0)
        html_write(out, "<p class=\"cut\">%lld events could not be recorded.</p>",
                   (long long)dropped);
}

void page_flight_write(struct text *out, const json_t *report)
{
    const json_t *threads =
        json_object_get(json_object_get(report, "flight"), "threads");
    size_t count = json_array_size(threads);
    if (count == 0)
        return;
    // A program may have requested a report without a crash.
    const char *moment =
        json_object_get(report, "crash") != NULL ? "the crash" : "the report";
    html_write(out,
               "<section class=\"card\" id=\"flight\"><h2>Flight record"
               " <small>what ran before %s</small></h2>\n",
               moment);
    for (size_t i = 0; i < count && i < THREADS_SHOWN && !page_is_full(out); i++)
        write_thread_flight(out, json_array_get(threads, i), moment);
    page_write_cut(out, THREADS_SHOWN, count, "threads");
    html_write(out, "</section>\n");
}
