// SPDX-License-Identifier: Apache-2.0
//
// The filter that a request's URL describes: the API and the pages take the same
// parameters. `q` is a search (search.h), each of its keys is a parameter too, and
// `sort`, `for_release`, `group`, `limit` and `cursor` are parameters alone. What
// cannot be understood, a parameter that does not exist among it, fails the request
// with 400 and an error that says what may have been meant.
#pragma once
#include <stdbool.h>

#include "collector/requests/search.h"
#include "collector/server/http.h"
#include "collector/store/store.h"

struct filter {
    struct store_filter store;
    struct search search;
};

// filter_read fills out, whose strings live as long as the request and out itself; it
// must not be moved. false: it failed the request, and the answer says why.
bool filter_read(struct http_request *request, size_t default_limit,
                 struct filter *out);

// filter_read_with does so for a request that takes other parameters too: also is their
// names, with a space between them.
bool filter_read_with(struct http_request *request, size_t default_limit,
                      const char *also, struct filter *out);

// filter_knows fails the request for a parameter other than those that are taken
// (names, with a space between them; NULL: none), where there is no filter. False: it
// failed it.
bool filter_knows(struct http_request *request, const char *taken);

// filter_open_only adds `is:open`, unless the filter asks for a status itself. It does
// not appear in the search that pages show.
void filter_open_only(struct filter *filter);

// filter_write_query appends the filter, all but the cursor, as it stands in a URL
// (`q=release:1.2+x&sort=count`), percent-encoded; nothing when there is none.
void filter_write_query(const struct http_request *request, const struct filter *filter,
                        struct text *out);

// filter_write_search appends `q=TERMS` without the term at index but (SIZE_MAX: with
// all), and with one more if key is not NULL.
void filter_write_search(const struct search *search, size_t but, const char *key,
                         const char *value, struct text *out);

// filter_encode appends a value as it stands in a URL.
void filter_encode(struct text *out, const char *value);
