// SPDX-License-Identifier: Apache-2.0
//
// The review pages: rendered here, complete without JavaScript, and without a byte from
// another site. These are the handlers for the table of routes.
#pragma once
#include "collector/server/http.h"

// page_overview shows what a team asks first about a release; with a filter it is
// page_groups.
http_handle_fn page_overview;

// page_groups lists groups, filtered by the URL's parameters.
http_handle_fn page_groups;

// page_facets counts the values that the reports of a search carry, by one or two keys.
http_handle_fn page_facets;

// page_post_groups does what the form of that list requests for each chosen group, and
// redirects to the list.
http_handle_fn page_post_groups;

// page_group shows one group and lists its reports.
http_handle_fn page_group;

// page_post_group does what a form of a group's page requests, and redirects to the
// page.
http_handle_fn page_post_group;

// page_releases shows the releases of each program, page_machines the machines that
// crash, page_symbols the debug files that are missing or here.
http_handle_fn page_releases;
http_handle_fn page_machines;
http_handle_fn page_symbols;

// page_post_searches saves a search or forgets one.
http_handle_fn page_post_searches;

// page_alerts shows the receivers of alerts; page_post_alerts sends one of them a test.
http_handle_fn page_alerts;
http_handle_fn page_post_alerts;

// page_access shows who is signed in, and to administrators tokens and who did what;
// page_post_access ends a session, or makes or revokes a token. page_post_zone keeps
// the time zone that somebody chooses, in a cookie.
http_handle_fn page_access;
http_handle_fn page_post_access;
http_handle_fn page_post_zone;

// page_post_login exchanges the token of the form for a session, whose cookie it sets,
// or shows the form again; page_post_logout ends the session and removes the cookie.
http_handle_fn page_post_login;
http_handle_fn page_post_logout;

// page_login_write writes the form that asks for a token; to is the page it leads to.
void page_login_write(struct text *out, const char *to, const char *complaint);

http_handle_fn page_report;

// page_compare shows what differs between two reports, `?r=ID&r=ID`.
http_handle_fn page_compare;

// page_choose_zone has the calling thread write times in the zone that the request's
// sender chose, or in that of the collector.
http_handle_fn page_choose_zone;

http_handle_fn page_style;

// page_failure turns the sentence in the answer's body into a page that shows it.
http_handle_fn page_failure;
