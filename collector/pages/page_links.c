// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page_sections.h"
#include "collector/requests/filter.h"
#include "report/grouping/report_in_app.h"
#include "report/value/report.h"

enum { FILLED = 600 };

// hole is a name in a template and what fills it.
struct hole {
    const char *name;
    const char *value; // NULL: it is not known, and there is no link
};

static const struct hole *find_hole(const struct hole *holes, size_t count,
                                    const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(holes[i].name) == length &&
            strncmp(holes[i].name, name, length) == 0)
            return &holes[i];
    }
    return NULL;
}

// fill_template appends a template with its holes filled; false: one cannot be.
static bool fill_template(const char *template, const struct hole *holes, size_t count,
                          struct text *out)
{
    while (*template != 0) {
        size_t plain = strcspn(template, "{");
        text_append(out, template, plain);
        template += plain;
        if (*template == 0)
            break;
        size_t length = strcspn(template + 1, "}");
        const struct hole *hole = find_hole(holes, count, template + 1, length);
        char value[FILLED];
        if (hole == NULL || hole->value == NULL)
            return false;
        entry_copy(value, sizeof(value), hole->value);
        filter_encode(out, value);
        template += length + 1 + (template[length + 1] == '}');
    }
    return text_ok(out);
}

// inner_file is a file's path below the root of the sources; NULL: it is not there.
static const char *inner_file(const char *file, const char *root)
{
    size_t length = root != NULL ? strlen(root) : 0;
    if (file == NULL || strstr(file, "..") != NULL ||
        strncmp(file, root != NULL ? root : "", length) != 0)
        return NULL;
    file += length;
    file += strspn(file, "~./");
    return *file != 0 ? file : NULL;
}

void page_link_source(struct text *out, const struct page_templates *templates,
                      const json_t *report, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    char line[24];
    int64_t number = report_integer(frame, "line", 0);
    if (templates->source == NULL || number <= 0 ||
        report_frame_is_system(report, frame))
        return;
    (void)snprintf(line, sizeof(line), "%lld", (long long)number);
    const struct hole holes[] = {
        { "file", inner_file(report_string(frame, "file"), templates->root) },
        { "line", line },
        { "release", report_string(report, "release") },
        { "build", report_string(report_image(report, frame), "build_id") },
    };
    if (fill_template(templates->source, holes, sizeof(holes) / sizeof(holes[0]), &url))
        html_write(out, "<a class=\"host\" rel=\"noreferrer\" href=\"%s\">source</a>",
                   url.bytes);
}

void page_link_issue(struct text *out, const struct page_templates *templates,
                     const char *title, const char *summary, const char *url,
                     const char *group)
{
    struct text CH_CLEANUP(text_deinit) filled = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    if (templates->issue == NULL)
        return;
    text_appendf(&body, "%.300s\n\n%.200s", summary, url);
    const struct hole holes[] = {
        { "title", title },
        { "text", text_ok(&body) ? body.bytes : NULL },
        { "url", url },
        { "group", group },
    };
    if (fill_template(templates->issue, holes, sizeof(holes) / sizeof(holes[0]),
                      &filled))
        html_write(out, "<a rel=\"noreferrer\" href=\"%s\">New issue</a>",
                   filled.bytes);
}
