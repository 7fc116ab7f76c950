// SPDX-License-Identifier: Apache-2.0
//
// Requests of commands to a collector, one at a time, with the token that uploads use.
//
// A failure is reported here, in one line. Limits: an answer of
// COLLECTOR_ANSWER_MAX_MS, and the sizes of net/http.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/session/session.h"

enum { COLLECTOR_ANSWER_MAX_MS = 30000 };

// collector_is_url returns true if an argument is an address and not a file or an id.
bool collector_is_url(const char *argument);

// collector_base appends the collector's address: url, where it is not NULL, otherwise
// the first collector in CRASHHOOK_URL, without a path. CH_ERR_NOT_FOUND: there is
// none.
CH_CHECKED enum ch_status collector_base(const struct session *session, const char *url,
                                         struct text *out);

// collector_get asks for base and path; the caller owns *out.
CH_CHECKED enum ch_status collector_get(const struct session *session, const char *base,
                                        const char *path, struct text *out);

// collector_find does the same for what may be missing: CH_ERR_NOT_FOUND, without a
// word.
CH_CHECKED enum ch_status collector_find(const struct session *session,
                                         const char *base, const char *path,
                                         struct text *out);

// collector_post sends value and appends the answer. CH_ERR_NOT_FOUND: the collector
// does not have what path names.
CH_CHECKED enum ch_status collector_post(const struct session *session,
                                         const char *base, const char *path,
                                         const json_t *value, struct text *out);

// collector_delete asks the collector to remove what path names, and appends the
// answer.
CH_CHECKED enum ch_status collector_delete(const struct session *session,
                                           const char *base, const char *path,
                                           struct text *out);

// collector_group reads the group that a user named by its id, the first 8 or more
// characters of it, or the address of its page. CH_ERR_NOT_FOUND: there is none;
// CH_ERR_MALFORMED: group is none of these.
CH_CHECKED enum ch_status collector_group(const struct session *session,
                                          const char *base, const char *group,
                                          json_t **out);

// collector_report reads the report that an address names: its page, the API's address
// of it, or a group's page, which stands for its newest report.
CH_CHECKED enum ch_status collector_report(const struct session *session,
                                           const char *url, json_t **out);

// collector_encode appends a value in the form that URLs need.
void collector_encode(struct text *out, const char *value);
