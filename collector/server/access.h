// SPDX-License-Identifier: Apache-2.0
//
// Access control: tokens, and protection against the two ways in which a browser can be
// turned against a collector that it can reach (a page of another site that sends
// requests in its user's name, and DNS rebinding, a name that is made to resolve to
// 127.0.0.1). Comparing tokens takes the same time however much of them is equal.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { ACCESS_TOKENS = 64, ACCESS_TOKEN_SIZE = 512 };

struct access_tokens {
    char *bytes;                          // the file, cut into lines
    const char *lines[ACCESS_TOKENS + 1]; // NULL-terminated
};

// access_read_tokens reads a file of tokens, one a line. Spaces around a token, empty
// lines and lines that start with # are ignored. CH_ERR_NOT_FOUND: the file holds no
// token. CH_ERR_LIMIT: too many tokens, or one is too long. access_tokens_deinit frees
// them.
CH_CHECKED enum ch_status access_read_tokens(const char *path,
                                             struct access_tokens *out);
void access_tokens_deinit(struct access_tokens *tokens);

// access_authorized says whether an Authorization header (NULL: none was sent) carries
// one of the tokens, as Bearer or, where basic is set, as the password of Basic, and
// stores the token's index at out_token. Without tokens it is true, and out_token is
// left untouched.
bool access_authorized(const char *const *tokens, const char *authorization, bool basic,
                       size_t *out_token);

// access_is_token looks for a token that was sent in another way, such as a form's
// field.
bool access_is_token(const char *const *tokens, const char *sent, size_t *out_token);

// ACCESS_COOKIE is the name of the cookie that logging in sets.
#define ACCESS_COOKIE "crashhook_login"

// access_write_cookie writes the value of a cookie that carries a token;
// access_cookie_ok says whether such a value (NULL: none was sent) carries one of ours.
void access_write_cookie(const char *token, char out[2 * ACCESS_TOKEN_SIZE + 1]);
bool access_cookie_ok(const char *const *tokens, const char *cookie, size_t *out_token);

// access_same_origin says whether a browser sent a form from a page of this collector:
// by Sec-Fetch-Site, or, for a browser that does not send it, by an Origin that names
// host. Without either header it is false. Each argument may be NULL.
bool access_same_origin(const char *fetch_site, const char *origin, const char *host);

// access_host_ok says whether a Host header (NULL: none was sent) names an IP address
// or localhost: the only names that a collector without tokens answers to.
bool access_host_ok(const char *host);
