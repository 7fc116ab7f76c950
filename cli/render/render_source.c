// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_source.h"

#include <inttypes.h>

#include "report/value/frame_source.h"
#include "report/value/report.h"

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

void render_source_write(const struct pen *pen, const json_t *report,
                         const json_t *frame)
{
    struct frame_source source;
    int64_t line = report_integer(frame, "line", 0);
    if (frame_source_read(report, frame, CONTEXT_LINES, &source) != CH_OK)
        return;
    pen_plain(pen, "\n");
    render_source_warning(pen, source.state);
    for (size_t i = 0; i < source.count; i++) {
        int64_t number = source.first + (int64_t)i;
        render_source_line(pen, number, source.lines[i],
                           number == line && source.state != FRAME_SOURCE_CHANGED);
    }
    frame_source_deinit(&source);
}
