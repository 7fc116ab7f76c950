// SPDX-License-Identifier: Apache-2.0
//
// What a request's address narrows a listing to: the same parameters on the API and on
// the pages. A value that cannot be understood fails the request with 400 and says
// which.
#pragma once
#include <stdbool.h>

#include "collector/http.h"
#include "collector/store.h"

struct filter {
    struct store_filter store;
    char tag_keys[STORE_FILTER_TAGS][sizeof(((struct entry_tag *)NULL)->key)];
    char signal_name[24];
};

// filter_read fills out, whose strings live as long as the request. false: the
// request's answer says what was wrong.
bool filter_read(struct http_request *request, size_t default_limit,
                 struct filter *out);

// filter_write_query appends the parameters of the request but the cursor as they stand
// in an address (`release=1.2&q=x`), percent-encoded; nothing when there are none.
void filter_write_query(const struct http_request *request, struct text *out);
