// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/requests/viewed_report.h"
#include "collector/symbols/symbol_store.h"
#include "report/grouping/report_in_app.h"
#include "report/value/report.h"

enum { FRAMES_WITH_LINES = 24, LINE_SHOWN = 300, SUMMARY_SHOWN = 120 };

void page_sources_init(struct page_sources *sources, const struct viewed_report *viewed)
{
    *sources = (struct page_sources){ .symbols = viewed->symbols,
                                      .project = viewed->project,
                                      .report = viewed->opened.json };
}

void page_sources_deinit(struct page_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->builds[i].opened)
            build_sources_close(&sources->builds[i].sources);
    }
    sources->count = 0;
}

// build_of finds the build of an image, and opens its bundle if there is one.
static struct page_source_build *build_of(struct page_sources *sources,
                                          const json_t *image)
{
    const char *id = report_string(image, "build_id");
    if (sources->symbols == NULL || id == NULL)
        return NULL;
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->builds[i].image == image)
            return &sources->builds[i];
    }
    if (sources->count == PAGE_SOURCE_BUILDS)
        return NULL;
    struct page_source_build *build = &sources->builds[sources->count++];
    *build = (struct page_source_build){ .image = image };
    // Where one bundle is slow to come, so are others.
    int fd = -1;
    enum ch_status status =
        sources->busy ? CH_ERR_LIMIT
                      : symbol_store_open_now(sources->symbols, sources->project,
                                              SYMBOL_SOURCES, id, &fd);
    sources->busy = status == CH_ERR_LIMIT || status == CH_ERR_IO;
    build->opened = build_sources_open(&build->sources, fd);
    return build;
}

// find_lines reads the lines around a frame's line.
static bool find_lines(struct page_sources *sources, const json_t *frame,
                       struct source_lines *out)
{
    const char *file = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    if (file == NULL || line <= 0)
        return false;
    struct page_source_build *build =
        build_of(sources, report_image(sources->report, frame));
    if (build == NULL)
        return false;
    if (build->opened &&
        build_sources_lines(&build->sources, file, (uint64_t)line, out) == CH_OK)
        return true;
    bool own = !report_frame_is_system(sources->report, frame);
    build->wanted = build->wanted || (own && !build->opened && !sources->busy);
    build->partial = build->partial || (own && build->opened);
    return false;
}

// source_line_of is the frame's own line among lines.
static const char *source_line_of(const struct source_lines *lines, const json_t *frame)
{
    return lines->lines[(uint64_t)report_integer(frame, "line", 0) - lines->first];
}

static void write_source_lines(struct text *out, const struct source_lines *lines,
                               uint64_t marked)
{
    html_write(out, "<ol class=\"lines\" start=\"%llu\" tabindex=\"0\">\n",
               (unsigned long long)lines->first);
    for (size_t i = 0; i < lines->count; i++) {
        html_write(out,
                   lines->first + i == marked
                       ? "<li class=\"here\"><mark>%.*s</mark></li>\n"
                       : "<li><code>%.*s</code></li>\n",
                   LINE_SHOWN, lines->lines[i]);
    }
    html_write(out, "</ol>");
}

void page_source_write(struct text *out, struct page_sources *sources,
                       const json_t *frame, bool may_open)
{
    struct source_lines lines;
    if (sources == NULL || sources->shown == FRAMES_WITH_LINES ||
        !find_lines(sources, frame, &lines))
        return;
    const char *line = source_line_of(&lines, frame);
    bool open = may_open && !sources->opened;
    sources->opened = sources->opened || open;
    sources->shown++;
    html_write(out,
               "<details class=\"source\"%s><summary><span>Source</span>"
               "<code>%.*s</code></summary>\n",
               open ? " open" : "", SUMMARY_SHOWN, line + strspn(line, " \t"));
    write_source_lines(out, &lines, (uint64_t)report_integer(frame, "line", 0));
    html_write(out, "</details>");
}

void page_source_line(struct text *out, struct page_sources *sources,
                      const json_t *frame)
{
    struct source_lines lines;
    if (find_lines(sources, frame, &lines)) {
        const char *line = source_line_of(&lines, frame);
        text_append_string(out, line + strspn(line, " \t"));
    }
}

// write_source_names lists the images that lack sources, and returns how many they are.
static size_t write_source_names(struct text *out, const struct page_sources *sources)
{
    size_t named = 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (!sources->builds[i].wanted)
            continue;
        html_write(out, "%s<b>%.*s</b>", named++ == 0 ? "" : ", ", PAGE_SHORT,
                   report_string(sources->builds[i].image, "name"));
    }
    return named;
}

void page_source_write_missing(struct text *out, const struct page_sources *sources,
                               const char *address)
{
    bool wanted = false;
    bool partial = false;
    for (size_t i = 0; i < sources->count; i++) {
        wanted = wanted || sources->builds[i].wanted;
        partial = partial || sources->builds[i].partial;
    }
    if (wanted) {
        html_write(out, "<p class=\"cut\">No sources were sent of ");
        write_source_names(out, sources);
        html_write(out,
                   ". To see lines of code here, send them from where it was "
                   "built:</p><pre class=\"command\">"
                   "crashhook symbols upload --sources --url %.*s FILE</pre>",
                   PAGE_SHORT, address);
    }
    if (sources->busy)
        html_write(out, "<p class=\"cut\">Some sources cannot be fetched now: their "
                        "store is slow.</p>");
    if (partial)
        html_write(out, "<p class=\"cut\">Frames without source lines are of files that"
                        " were not among the sources sent.</p>");
}
