// SPDX-License-Identifier: Apache-2.0
//
// Who may ask: tokens, and the two ways a browser can be turned against the collector
// it reaches (a page of another site that asks in its user's name, and a name that is
// made to point at 127.0.0.1). Comparing tokens takes the same time whatever they
// share.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { ACCESS_TOKENS = 64, ACCESS_TOKEN_SIZE = 512 };

struct access_tokens {
    char *bytes;                          // the file, cut into lines
    const char *lines[ACCESS_TOKENS + 1]; // NULL-terminated
};

// access_read_tokens reads a file of tokens, one a line, spaces around them and lines
// that are empty or start with # left out. CH_ERR_NOT_FOUND: there is none in it.
// CH_ERR_LIMIT: too many, or one too long. access_tokens_deinit frees them.
CH_CHECKED enum ch_status access_read_tokens(const char *path,
                                             struct access_tokens *out);
void access_tokens_deinit(struct access_tokens *tokens);

// access_authorized says whether an Authorization header (NULL: none) carries one of
// the tokens, as Bearer or, where basic is set, as the password of Basic, and stores
// which at out_token. No tokens: true, and out_token is left.
bool access_authorized(const char *const *tokens, const char *authorization, bool basic,
                       size_t *out_token);

// access_is_token looks for a token that was sent in another way.
bool access_is_token(const char *const *tokens, const char *sent, size_t *out_token);

// ACCESS_COOKIE is the name of the cookie that logging in sets.
#define ACCESS_COOKIE "crashhook_login"

// access_write_cookie writes the value of a cookie that carries a token, and
// access_cookie_ok says whether such a value (NULL: none) does.
void access_write_cookie(const char *token, char out[2 * ACCESS_TOKEN_SIZE + 1]);
bool access_cookie_ok(const char *const *tokens, const char *cookie, size_t *out_token);

// access_same_origin says whether a browser sent a form from a page of this collector:
// by Sec-Fetch-Site, or, for one that does not send it, by Origin naming host. One of
// them must be there. Each may be NULL.
bool access_same_origin(const char *fetch_site, const char *origin, const char *host);

// access_host_ok says whether a Host header (NULL: none) names an address or localhost:
// what a collector without tokens answers to.
bool access_host_ok(const char *host);
