// SPDX-License-Identifier: Apache-2.0
//
// The review pages: rendered here, whole without JavaScript, and without a byte from
// anywhere else. Handlers for the table of routes.
#pragma once
#include "collector/http.h"

// page_groups lists groups, narrowed by the address.
void page_groups(struct http_request *request);

// page_group shows one group and lists its reports.
void page_group(struct http_request *request);

// page_report shows one report.
void page_report(struct http_request *request);

// page_style is the style sheet.
void page_style(struct http_request *request);

// page_failure turns the sentence in the answer's body into a page that shows it.
void page_failure(struct http_request *request);
