// SPDX-License-Identifier: Apache-2.0
//
// Links to elsewhere: a frame's line at the host of the sources, a new issue in a
// tracker. Each is a template of who runs the collector, with holes such as {file}.
// What fills a hole comes from a report, so it is encoded, and never begins an address.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "collector/requests/viewed_report.h"

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
