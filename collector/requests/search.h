// SPDX-License-Identifier: Apache-2.0
//
// What people type into the search field, as terms of a filter: words, `key:value`,
// `-` before what must not hold, quotes around what contains spaces or colons, OR
// between alternatives, `*` in the value of a key for any text, and ranges:
//
//     timeout program:shopd -host:web-13 message:"no such file" since:7d
//     release:1.4.* (host:web-1 OR host:web-2) machines:>30 time:2026-11-01..2026-11-07
//
// OR joins its two neighbours; parentheses around alternatives change nothing.
// A parameter of a URL (`?host=web-13`) is the same as a term. The pages and the API
// use this parser alone. Limits: SEARCH_SIZE bytes, STORE_TERMS terms.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/store/store.h"

enum { SEARCH_SIZE = 2000, SEARCH_WHY_SIZE = 240 };

struct search {
    int64_t now_ms; // that `since:7d` is counted from; set before anything is added
    struct store_term terms[STORE_TERMS];
    struct {
        const char *key; // NULL: a word
        const char *value;
        const char *user; // another name of the user that reports may have; else NULL
    } said[STORE_TERMS];  // the terms as they were written
    size_t count;
    char why[SEARCH_WHY_SIZE]; // of a failure: one sentence
    char bytes[SEARCH_SIZE];   // the strings above
    size_t used;
};

// search_read adds the terms of a text. CH_ERR_MALFORMED, here and below: why says what
// is wrong with it.
CH_CHECKED enum ch_status search_read(struct search *search, const char *text);

// search_add adds one term whose value is not parsed further.
CH_CHECKED enum ch_status search_add(struct search *search, const char *key,
                                     const char *value);

// search_project is the project that a term names, or NULL. search_names_user says
// whether a term names a user otherwise than by a pseudonym.
const char *search_project(const struct search *search);
bool search_names_user(const struct search *search);

// search_hide_users replaces the values of `user:` by the pseudonyms that they have in
// a project; plain: it keeps them. The other of both is in `said`.
CH_CHECKED enum ch_status search_hide_users(struct search *search, const char *salt,
                                            const char *project, bool plain);

// search_is_key returns true if there is such a key; search_nearest_key is the key that
// may have been meant, or NULL.
bool search_is_key(const char *key);
const char *search_nearest_key(const char *key);

// search_leave_out has reports that come from now on not be found by keys, which have
// commas between them. false: one is no key, or names a column of reports.
bool search_leave_out(const char *fields);

// search_write_tag appends the value of a term `tag:`.
void search_write_tag(const char *key, const char *value, struct text *out);

// search_was_negated returns true if the term at index i was written with `-`: some
// values of `is:` are negations themselves.
bool search_was_negated(const struct search *search, size_t i);

// search_write appends the terms as a text that search_read understands, all but the
// one at index but (SIZE_MAX: all).
void search_write(const struct search *search, size_t but, struct text *out);

// search_write_term appends one term that search_read understands as key and value.
void search_write_term(struct text *out, const char *key, const char *value);
