// SPDX-License-Identifier: Apache-2.0
//
// The sections of pages, those of a report's page in its order. Each function writes
// one section, or nothing when there is nothing for it.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/requests/viewed_report.h"
#include "collector/store/store.h"
#include "collector/symbols/build_sources.h"

// Source lines beside the frames of the crashed thread, from the source bundles of
// their builds. A bundle is opened when the first frame of its build needs it; which
// bundles and files were missing is kept for one sentence at the end.

enum { PAGE_SOURCE_BUILDS = 16 };

struct page_source_build {
    const json_t *image;
    bool opened;
    bool wanted;  // a frame of the program's own needed it, and it is missing
    bool partial; // it exists, but a file that was needed is not in it
    struct build_sources sources;
};

struct symbol_store;

struct page_sources {
    struct page_templates templates; // of addresses elsewhere; all NULL: none
    struct symbol_store *symbols;    // NULL: there are none
    const char *project;             // whose sources they may be
    const json_t *report;
    struct page_source_build builds[PAGE_SOURCE_BUILDS];
    size_t count;
    size_t shown; // frames with source lines
    bool opened;  // one of these is shown unfolded
    bool busy;    // a bundle cannot be fetched now
};

// page_sources_init prepares to search for bundles of sources that a report may have;
// viewed must outlive sources.
void page_sources_init(struct page_sources *sources,
                       const struct viewed_report *viewed);
void page_sources_deinit(struct page_sources *sources);

// page_source_write writes the lines around the frame's line: unfolded for the first
// frame for which may_open is set, and folded to the frame's own line for all others.
// It writes nothing where the lines are not available.
void page_source_write(struct text *out, struct page_sources *sources,
                       const json_t *frame, bool may_open);

// page_source_line appends the frame's line without its indentation, or nothing.
void page_source_line(struct text *out, struct page_sources *sources,
                      const json_t *frame);

// page_source_write_missing names the builds whose sources are missing, and how to
// upload them.
void page_source_write_missing(struct text *out, const struct page_sources *sources,
                               const char *address);

// Links to elsewhere: a frame's line at the host of the sources, a new issue in a
// tracker. Each is a template of who runs the collector, with holes such as {file}.
// What fills a hole comes from a report, so it is encoded, and never begins an address.

// page_link_source writes a link to a frame's line: {file}, {line}, {release}, {build}.
// It writes nothing without a template, for code that is not the program's own, and for
// files outside of the folder that the sources were built in.
void page_link_source(struct text *out, const struct page_templates *templates,
                      const json_t *report, const json_t *frame);

// page_link_issue writes a link that begins an issue: {title}, {text}, {url}, {group};
// url is where the page is.
void page_link_issue(struct text *out, const struct page_templates *templates,
                     const char *title, const char *summary, const char *url,
                     const char *group);

// A group as a row of a list, or as a line of the overview.
//
// Whatever a row names (programs, releases, people) is a link to the list that it
// narrows. Limit: names are cut, so that 50 rows stay under 60 KB.

// page_group_rows is what the rows of a list are written with.
struct page_group_rows {
    struct text *out;
    int64_t now_ms;
    bool choosing; // each row has a box to choose it with
    bool filtered; // a filter accepts some of the reports alone
    size_t count;  // rows so far
    bool more;     // a row counts the newest reports of its group alone
    size_t begin;  // where they begin in out
};

// page_group_row_write is a store_group_fn that writes a row; context is a struct
// page_group_rows. page_group_line_write writes a line: title, program and figures.
void page_group_row_write(void *context, const struct store_group *group);
void page_group_line_write(void *context, const struct store_group *group);

// page_ask_merge asks whether groups are to be merged into the first of ids; the form
// of its answer has the fields of the form that asked for it, and `confirm`.
struct form;
void page_ask_merge(struct http_request *request, const struct form *form,
                    const char *const *ids, size_t count);

// page_groups_write_search writes the search field, with the terms of a filter unless
// it is NULL.
void page_groups_write_search(struct text *out, const struct filter *filter);

// page_groups_write_nothing reports how to send a first report.
void page_groups_write_nothing(struct text *out, const struct http_request *request);

// page_write_logout writes the button to log out, where there are tokens.
void page_write_logout(struct text *out, const struct http_request *request);

// page_starts_write writes which part of each release's sessions did not crash, and of
// one release on the hosts where most did, where starts are counted.
CH_CHECKED enum ch_status page_starts_write(struct text *out, struct store *store,
                                            const char *project, const char *release);

// page_report_write writes the page of report id; address is the collector's own URL as
// the reader's browser reached it; all: with what makes the page heavy.
void page_report_write(struct text *out, const struct viewed_report *viewed,
                       const char *id, const char *address, bool all);

// page_text_write writes the report as plain text, without control characters.
void page_text_write(struct text *out, const struct viewed_report *viewed,
                     const char *id);

// page_missing_write reports which debug files would name the nameless frames, and how
// to upload them.
void page_missing_write(struct text *out, const json_t *report, const char *address);

// page_flight_write draws and lists what each thread ran before the crash.
void page_flight_write(struct text *out, const json_t *report);

// page_watches_write writes the values that the program asked to have watched.
void page_watches_write(struct text *out, const json_t *report);

// page_memory_write writes the code around the crash, what registers point to, and the
// memory there.
void page_memory_write(struct text *out, const json_t *report);

// page_frames_write writes a thread's frames: the program's own open, runs of system
// frames folded (unless there are no others), inlined calls marked, source lines where
// there are sources (NULL: none), and why the unwind ended.
void page_frames_write(struct text *out, const json_t *report, const json_t *thread,
                       struct page_sources *sources);

// page_frames_headline is the function that best names a thread, or NULL: that of the
// innermost frame of the program's own, else of the innermost frame.
const char *page_frames_headline(const json_t *thread);

// page_threads_write_crashed writes the crashed thread, with source lines, and its
// registers; address is as in page_report_write.
void page_threads_write_crashed(struct text *out, const struct viewed_report *viewed,
                                const char *address);

// page_threads_write_others writes the other threads, each distinct stack once.
void page_threads_write_others(struct text *out, const json_t *report);

// page_triage_write writes the forms in which people decide about a group.
void page_triage_write(struct text *out, struct store *store,
                       const struct store_group *group);

// page_facets_beside_write counts the values of the newest reports of a search, to be
// shown beside its groups, or above the reports of the only one.
void page_facets_beside_write(struct text *out, struct store *store,
                              const struct filter *filter);

// page_searches_write links the saved searches, and has the forms that save the present
// one and remove others.
void page_searches_write(struct text *out, struct http_request *request,
                         const struct search *search, const char *sort);

// page_suspects_write lists the commits that may have brought the crash of a report of
// the group, and who owns its file, where the collector has been sent them.
void page_suspects_write(struct text *out, struct store *store,
                         const struct store_group *group, const json_t *report,
                         int64_t now_ms);

// page_release_chart_write draws the crashes of each day by release, and counts those
// of the newest releases of each program.
struct releases_of;
struct releases;
CH_CHECKED enum ch_status page_release_chart_write(struct text *out,
                                                   struct store *store,
                                                   const struct releases_of *of,
                                                   const struct releases *releases);

// page_images_write writes the loaded images, and what was uploaded of each.
void page_images_write(struct text *out, const struct viewed_report *viewed);
