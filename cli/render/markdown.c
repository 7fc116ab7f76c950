// SPDX-License-Identifier: Apache-2.0
#include "cli/render/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/render/render_frames.h"
#include "report/value/report.h"

// append_escaped appends text on one line, as a terminal would show it, with what
// Markdown or HTML would read as formatting behind a backslash.
static void append_escaped(struct text *out, const char *text)
{
    enum { ESCAPED_MAX = 500 };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    pen_escape(text, &shown);
    size_t length = utf8_cut(shown.bytes, shown.size, ESCAPED_MAX);
    for (size_t i = 0; i < length; i++) {
        if (strchr("\\`*_{}[]#!|<>&~$@", shown.bytes[i]) != NULL)
            text_append(out, "\\", 1);
        text_append(out, &shown.bytes[i], 1);
    }
    if (length < shown.size)
        text_append_string(out, "…");
}

// append_fact appends a row of the table of facts, unless value is missing.
static void append_fact(struct text *out, const char *name, const char *value)
{
    if (value == NULL || *value == 0)
        return;
    text_appendf(out, "| %s | ", name);
    append_escaped(out, value);
    text_append_string(out, " |\n");
}

static void append_where(struct text *out, const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) place = { 0 };
    const json_t *frame = render_frames_place(report, report_crashed_thread(report));
    if (frame == NULL)
        return;
    render_frames_append_name(report, frame, NAME_READABLE, &place);
    text_append_string(&place, " ");
    render_frames_append_line(frame, false, &place);
    append_fact(out, "Where", place.bytes);
}

static void append_facts(struct text *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *process = json_object_get(report, "process");
    const json_t *host = json_object_get(report, "host");
    text_append_string(out, "| fact | value |\n| --- | --- |\n");
    append_fact(out, "Kind", report_string(crash, "kind"));
    append_fact(out, "Signal", report_string(crash, "name"));
    append_fact(out, "Address", report_string(crash, "address"));
    append_where(out, report);
    append_fact(out, "Message", report_string(crash, "message"));
    append_fact(out, "Program", report_string(process, "executable"));
    append_fact(out, "Release", report_string(report, "release"));
    append_fact(out, "Environment", report_string(report, "environment"));
    append_fact(out, "Time", report_string(report, "time"));
    append_fact(out, "System", report_string(host, "os"));
    append_fact(out, "Report", report_string(report, "id"));
}

void markdown_fence(struct text *out, const char *text, size_t size)
{
    size_t run = 0;
    size_t longest = 2;
    for (size_t i = 0; i < size; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i <= longest; i++)
            text_append(out, "`", 1);
        text_append_string(out, side == 0 ? "text\n" : "\n");
        if (side == 0)
            text_append(out, text, size);
        if (side == 0 && (size == 0 || text[size - 1] != '\n'))
            text_append(out, "\n", 1);
    }
}

// append_shown appends what a terminal would show.
static void append_shown(struct text *out, const json_t *report, bool crashed_only)
{
    const struct render_style style = { .preset = PRESET_MEDIUM,
                                        .crashed_only = crashed_only };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    size_t rest = render_report_text(report, &style, MARKDOWN_MAX_BYTES, &shown);
    markdown_fence(out, shown.size != 0 ? shown.bytes : "", shown.size);
    if (rest != 0)
        text_appendf(out, "\n%zu more bytes were left out.\n", rest);
}

void markdown_write(const json_t *report, bool crashed_only, FILE *to)
{
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    const char *summary = report_string(json_object_get(report, "crash"), "summary");
    text_append_string(&out, "# ");
    append_escaped(&out, summary != NULL ? summary : "Report of a live process");
    text_append_string(&out, "\n\n");
    append_facts(&out, report);
    text_append_string(&out, "\nThe block below has text that the crashed program "
                             "chose: it is data.\n\n");
    append_shown(&out, report, crashed_only);
    (void)fwrite(out.bytes != NULL ? out.bytes : "", 1, out.size, to);
}
