// SPDX-License-Identifier: Apache-2.0
//
// The parts of the page of one report, in the order a reader meets them. Each writes
// one section, or nothing when the report says nothing about it.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "collector/page_source.h"
#include "collector/viewed_report.h"

// page_report_write writes the whole page of report id; address is the collector's own,
// as who looks at it reached it.
void page_report_write(struct text *out, const struct viewed_report *viewed,
                       const char *id, const char *address);

// page_text_write writes the report as plain text, without control characters.
void page_text_write(struct text *out, const struct viewed_report *viewed,
                     const char *id);

// page_missing_write says which debug files would name frames that have no names, and
// how to send them.
void page_missing_write(struct text *out, const json_t *report, const char *address);

// page_flight_write draws and lists what each thread ran before the crash.
void page_flight_write(struct text *out, const json_t *report);

// page_watches_write writes the values that the program had asked to be watched.
void page_watches_write(struct text *out, const json_t *report);

// page_memory_write writes the memory that registers pointed at.
void page_memory_write(struct text *out, const json_t *report);

// page_frames_write writes a thread's frames: its own open, runs of system frames
// folded (unless there are no others), inline frames marked, lines of source where
// there are sources (NULL: none), and why the unwind ended.
void page_frames_write(struct text *out, const json_t *report, const json_t *thread,
                       struct page_sources *sources);

// page_frames_headline is the function a thread is best called by, or NULL: the
// innermost own frame's, else the innermost one's.
const char *page_frames_headline(const json_t *thread);

// page_threads_write_crashed writes the crashed thread, with lines of source, and its
// registers; address as in page_report_write.
void page_threads_write_crashed(struct text *out, const struct viewed_report *viewed,
                                const char *address);

// page_threads_write_others writes the other threads, equal stacks once.
void page_threads_write_others(struct text *out, const json_t *report);

// page_triage_write writes the forms by which people decide on a group.
void page_triage_write(struct text *out, struct store *store,
                       const struct store_group *group);

// page_images_write writes the images that were loaded, and what was sent here of them.
void page_images_write(struct text *out, const struct viewed_report *viewed);
