// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_around.h"

#include <inttypes.h>
#include <limits.h>

#include "report/value/around.h"
#include "report/value/report.h"

// render_around_lines writes lines of text that are not escaped yet below a title.
static void render_around_lines(const struct pen *pen, const char *title,
                                const struct text *lines)
{
    if (lines->size == 0 || !text_ok(lines))
        return;
    pen_set(pen, PEN_BOLD);
    pen_plain(pen, "\n");
    pen_text(pen, title);
    pen_plain(pen, ":\n");
    pen_set(pen, PEN_PLAIN);
    pen_lines(pen, lines->bytes, INT_MAX);
}

void render_around_code(const struct pen *pen, const json_t *report, size_t around)
{
    const json_t *listings =
        json_object_get(json_object_get(report, "crash"), "disassembly");
    size_t count = around == AROUND_ALL ? json_array_size(listings) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *listing = json_array_get(listings, i);
        const char *function = report_string(listing, "function");
        struct text CH_CLEANUP(text_deinit) lines = { 0 };
        struct text CH_CLEANUP(text_deinit) title = { 0 };
        text_appendf(&title, "Code of frame %" PRId64 "%s%s",
                     report_integer(listing, "frame", 0), function != NULL ? ", " : "",
                     function != NULL ? function : "");
        around_code_append(report, listing, around, true, &lines);
        render_around_lines(pen, text_ok(&title) ? title.bytes : "Code", &lines);
    }
}

void render_around_write(const struct pen *pen, const json_t *report, bool registers)
{
    struct text CH_CLEANUP(text_deinit) pointers = { 0 };
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    struct text CH_CLEANUP(text_deinit) process = { 0 };
    render_around_code(pen, report, AROUND_ALL);
    if (registers)
        around_pointers_append(report, &pointers);
    around_memory_append(report, &memory);
    around_process_append(report, &process);
    render_around_lines(pen, "What registers point to", &pointers);
    render_around_lines(pen, "Memory", &memory);
    render_around_lines(pen, "Process", &process);
}
