// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_source.h"

#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"

enum { LINES_AROUND = 5, LINE_MAX_BYTES = 256 };

// line_json is a line, cut; one that is not UTF-8 is empty.
static json_t *line_json(const char *line)
{
    json_t *json = json_stringn(line, utf8_cut(line, strlen(line), LINE_MAX_BYTES));
    return json != NULL ? json : json_string("");
}

static void add_source_lines(json_t *to, const struct frame_source *source,
                             int64_t line)
{
    json_t *before = json_array();
    json_t *after = json_array();
    for (size_t i = 0; i < source->count; i++) {
        int64_t number = source->first + (int64_t)i;
        json_t *json = line_json(source->lines[i]);
        if (number == line)
            (void)json_object_set_new(to, "context_line", json);
        else
            (void)json_array_append_new(number < line ? before : after, json);
    }
    // Neither makes sense without the line itself.
    if (json_object_get(to, "context_line") != NULL) {
        (void)json_object_set(to, "pre_context", before);
        (void)json_object_set(to, "post_context", after);
    }
    json_decref(before);
    json_decref(after);
}

void sentry_source_add(json_t *to, const json_t *report, const json_t *frame)
{
    const json_t *process = json_object_get(report, "process");
    struct frame_source source;
    if (report_integer(process, "uid", -1) != (int64_t)geteuid() ||
        frame_source_read(report, frame, LINES_AROUND, &source) != CH_OK)
        return;
    if (source.state == FRAME_SOURCE_BUILT)
        add_source_lines(to, &source, report_integer(frame, "line", 0));
    frame_source_deinit(&source);
}
