// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_waits.h"

#include "cli/render/render_threads.h"
#include "report/summary/report_waits.h"
#include "report/value/report.h"

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

void render_waits_write(const struct pen *pen, const json_t *report, bool owned)
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
