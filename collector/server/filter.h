// SPDX-License-Identifier: Apache-2.0
//
// The filter that a request's URL describes: the API and the pages take the same
// parameters. A value that cannot be understood fails the request with 400 and an error
// that names the parameter.
#pragma once
#include <stdbool.h>

#include "collector/server/http.h"
#include "collector/store/store.h"

struct filter {
    struct store_filter store;
    char tag_keys[STORE_FILTER_TAGS][sizeof(((struct entry_tag *)NULL)->key)];
    char signal_name[24];
};

// filter_read fills out, whose strings live as long as the request. false: it failed
// the request, and the answer says why.
bool filter_read(struct http_request *request, size_t default_limit,
                 struct filter *out);

// filter_write_query appends the request's parameters, all but the cursor, as they
// stand in a URL (`release=1.2&q=x`), percent-encoded; nothing when there are none.
void filter_write_query(const struct http_request *request, struct text *out);
