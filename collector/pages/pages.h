// SPDX-License-Identifier: Apache-2.0
//
// The review pages: rendered here, complete without JavaScript, and without a byte from
// another site. These are the handlers for the table of routes.
#pragma once
#include "collector/server/http.h"

// page_overview shows what a team asks first about a release; with a filter it is
// page_groups.
void page_overview(struct http_request *request);

// page_groups lists groups, filtered by the URL's parameters.
void page_groups(struct http_request *request);

// page_facets counts the values that the reports of a search carry, by one or two keys.
void page_facets(struct http_request *request);

// page_post_groups does what the form of that list requests for each chosen group, and
// redirects to the list.
void page_post_groups(struct http_request *request);

// page_group shows one group and lists its reports.
void page_group(struct http_request *request);

// page_post_group does what a form of a group's page requests, and redirects to the
// page.
void page_post_group(struct http_request *request);

// page_releases shows the releases of each program, page_machines the machines that
// crash, page_symbols the debug files that are missing or here.
void page_releases(struct http_request *request);
void page_machines(struct http_request *request);
void page_symbols(struct http_request *request);

// page_post_searches saves a search or forgets one.
void page_post_searches(struct http_request *request);

// page_alerts shows who is told of crashes; page_post_alerts sends one of them a test.
void page_alerts(struct http_request *request);
void page_post_alerts(struct http_request *request);

// page_access shows who is signed in, and to administrators tokens and who did what;
// page_post_access ends a session, or makes or revokes a token. page_post_zone keeps
// the time zone that somebody chooses, in a cookie.
void page_access(struct http_request *request);
void page_post_access(struct http_request *request);
void page_post_zone(struct http_request *request);

// page_post_login exchanges the token of the form for a session, whose cookie it sets,
// or shows the form again; page_post_logout ends the session and removes the cookie.
void page_post_login(struct http_request *request);
void page_post_logout(struct http_request *request);

// page_login_write writes the form that asks for a token; to is the page it leads to.
void page_login_write(struct text *out, const char *to, const char *complaint);

// page_report shows one report.
void page_report(struct http_request *request);

// page_compare shows what differs between two reports, `?r=ID&r=ID`.
void page_compare(struct http_request *request);

// page_choose_zone has the calling thread write times in the zone that the request's
// sender chose, or in that of the collector.
void page_choose_zone(struct http_request *request);

// page_style answers with the style sheet.
void page_style(struct http_request *request);

// page_failure turns the sentence in the answer's body into a page that shows it.
void page_failure(struct http_request *request);
