// SPDX-License-Identifier: Apache-2.0
//
// What a request to count values asks for: `by` and `then` name what reports carry, as
// the keys of searches do, and `day`, the day of a crash. The filter says of which
// reports, and its limit how many of them: the newest, COUNTS_DEFAULT unless it says
// more, at most COUNTS_MOST. Users: /facets and /api/v1/facets.
#pragma once
#include "collector/query/store_values.h"
#include "collector/requests/filter.h"

enum { COUNTS_DEFAULT = 2000, COUNTS_MOST = 20000, COUNTS_VALUES = 100 };

// count_key is what can be counted.
struct count_key {
    const char *name; // the key of a search, or `day`
    const char *label;
    enum store_facet facet;
};

// count_keys are all of them, in the order of menus.
const struct count_key *count_keys(size_t *out_count);

// count_key_of is the key of a facet, or NULL.
const struct count_key *count_key_of(enum store_facet facet);

// counts_request is such a request; by is NULL if it names nothing to count by.
struct counts_request {
    struct filter filter;
    const struct count_key *by;
    const struct count_key *then; // or NULL
};

// counts_read fills out, which must not be moved, as filter_read does; also is the
// names of further parameters.
bool counts_read(struct http_request *request, const char *also,
                 struct counts_request *out);

// counts_run counts. The strings that are visited live until the call returns.
CH_CHECKED enum ch_status counts_run(struct store *store,
                                     const struct counts_request *counts, size_t limit,
                                     store_counted_fn *visit, void *context,
                                     struct store_found *found);

// counts_write_value appends a value as people read it: a day as a date, and a tag with
// a colon between its key and its value.
void counts_write_value(enum store_facet facet, const char *value, struct text *out);

// counts_write_term appends the term of a search that finds the reports with a value.
void counts_write_term(const struct count_key *key, const char *value,
                       struct text *out);
