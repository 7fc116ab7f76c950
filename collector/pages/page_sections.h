// SPDX-License-Identifier: Apache-2.0
//
// The sections of pages, those of a report's page in its order. Each function writes
// one section, or nothing when there is nothing for it.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "collector/pages/page_source.h"
#include "collector/requests/filter.h"
#include "collector/requests/viewed_report.h"

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

// page_similar_write lists the groups whose stacks are nearest, to compare or merge.
void page_similar_write(struct text *out, struct store *store,
                        const struct store_group *group);

// page_suspects_write lists the commits that may have brought the crash of a report of
// the group, and who owns its file, where the collector has been sent them.
void page_suspects_write(struct text *out, struct store *store,
                         const struct store_group *group, const json_t *report,
                         int64_t now_ms);

// page_common_write writes what the reports of a group have in common.
void page_common_write(struct text *out, struct store *store,
                       const struct store_group *group);

// page_history_write writes what was done with a group.
void page_history_write(struct text *out, struct store *store, const char *id);

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
