// SPDX-License-Identifier: Apache-2.0
//
// Searches that people gave a name, for all who work on a project. Limit:
// SAVED_SEARCHES_MOST of a project. Users: the list of groups, the API.
#pragma once
#include "collector/store/store.h"

enum { SAVED_SEARCHES_MOST = 100, SAVED_SEARCH_NAME = 80 };

// saved_search is a search with its name; strings live until the visitor returns.
struct saved_search {
    const char *project; // empty: of those who may see all
    const char *name;
    const char *query; // as in the search field
    const char *sort;  // the parameter of that name, or empty
    const char *who;
    int64_t time_ms;
};

typedef void saved_search_fn(void *context, const struct saved_search *search);

// saved_search_save keeps a search, in place of the one of that name. CH_ERR_LIMIT: the
// project has SAVED_SEARCHES_MOST others.
CH_CHECKED enum ch_status saved_search_save(struct store *store,
                                            const struct saved_search *search,
                                            char error[STORE_ERROR_SIZE]);

// saved_search_forget removes the search of a project and name. CH_ERR_NOT_FOUND: there
// is none.
CH_CHECKED enum ch_status saved_search_forget(struct store *store,
                                              const struct saved_search *search,
                                              char error[STORE_ERROR_SIZE]);

// saved_searches_list visits those of a project, by name.
CH_CHECKED enum ch_status saved_searches_list(struct store *store, const char *project,
                                              saved_search_fn *visit, void *context);
