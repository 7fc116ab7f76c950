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

// page_post_group does what a form of a group's page asks for, and leads back to it.
void page_post_group(struct http_request *request);

// page_post_login sets a cookie that carries the token of the form, or shows the form
// again; page_post_logout takes it away.
void page_post_login(struct http_request *request);
void page_post_logout(struct http_request *request);

// page_login_write writes the form that asks for a token; to is where it leads.
void page_login_write(struct text *out, const char *to, const char *complaint);

// page_report shows one report.
void page_report(struct http_request *request);

// page_compare shows what differs between two reports, `?r=ID&r=ID`.
void page_compare(struct http_request *request);

// page_style is the style sheet.
void page_style(struct http_request *request);

// page_failure turns the sentence in the answer's body into a page that shows it.
void page_failure(struct http_request *request);
