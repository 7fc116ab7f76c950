// SPDX-License-Identifier: Apache-2.0
//
// Tokens that people make and revoke while the collector runs, on the page of access or
// by the API. They are in the store, as sums, and work in addition to those of the
// token file.
//
// A thread reads them again every 2 s: a token that another collector of the database
// made or revoked counts here after that time. Nobody can give a token more than they
// may do themselves, or another project than theirs. Users: main, the page, the API.
#pragma once
#include "collector/query/store_people.h"
#include "collector/requests/collector.h"

// MADE_TOKEN_SIZE is that of a token; MADE_TOKEN_ID_SIZE that of the beginning of its
// sum, by which people name it.
enum { MADE_TOKEN_SIZE = 64, MADE_TOKEN_ID_SIZE = 17 };

// made_tokens_start reads the tokens, and starts the thread that reads them again.
// made_tokens_stop ends it.
CH_CHECKED enum ch_status made_tokens_start(struct collector *collector);
void made_tokens_stop(struct collector *collector);

// made_token is a token as somebody asks for it. Each may be NULL.
struct made_token {
    const char *name;
    const char *scopes;  // as in the token file
    const char *project; // NULL or empty: that of the sender
    const char *expires; // a time such as 90d, or a day; NULL or empty: never
};

// made_token_make makes a token; false: it failed the request.
bool made_token_make(struct http_request *request, const struct made_token *asked,
                     char out[MADE_TOKEN_SIZE]);

// made_token_revoke revokes the token with that id, and with it the sessions that it
// began; false: it failed the request.
bool made_token_revoke(struct http_request *request, const char *id);

// made_tokens_list visits the tokens that the request's sender may revoke, by name.
CH_CHECKED enum ch_status made_tokens_list(struct http_request *request,
                                           store_token_fn *visit, void *context);

// Sessions of browsers: signing in exchanges a token for a cookie that is not the
// token. A session may do what its token may do at that time, and ends with it, after
// STORE_LOGIN_DAYS, or when somebody revokes it. The store has the cookie's sum alone.

// sessions_find is a http_session_fn; its context is the collector.
bool sessions_find(void *collector, const char *cookie, struct access_grant *out);

// sessions_begin makes a session for what a token grants, and writes its cookie.
CH_CHECKED enum ch_status sessions_begin(struct http_request *request,
                                         const struct access_grant *grant,
                                         char out[SHA256_HEX_SIZE]);

// sessions_end ends the session that the request's cookie carries, if there is one.
void sessions_end(struct http_request *request);
