// SPDX-License-Identifier: Apache-2.0
//
// Who signed in and who did what, and removing what is known of one person or host.
//
// A sign-in is kept by the sum of what its cookie carries, so that nobody who reads the
// store can use it. Users: access by cookies, the page and the requests of
// administrators.
#pragma once
#include "collector/entry/user_name.h"
#include "collector/store/store.h"

enum { STORE_AUDIT_MOST = 200, STORE_AUDIT_DAYS = 400, STORE_LOGIN_DAYS = 30 };

// store_login is a session of a browser. Strings live until the visitor returns.
struct store_login {
    const char *id;    // the sum of the cookie
    const char *token; // the sum of the token that it was exchanged for
    const char *name;
    const char *address;
    int64_t created_ms;
    int64_t seen_ms;
};

// store_audit_entry is something that somebody did: an export, a removal, a sign-in.
struct store_audit_entry {
    const char *who;
    const char *project; // of who did it; empty: all
    const char *what;
    const char *detail;
    int64_t time_ms;
};

typedef void store_login_fn(void *context, const struct store_login *login);
typedef void store_audit_fn(void *context, const struct store_audit_entry *entry);

// store_login_add keeps a session, and removes those that are over.
CH_CHECKED enum ch_status store_login_add(struct store *store,
                                          const struct store_login *login,
                                          char error[STORE_ERROR_SIZE]);

// store_login_find visits the session with that id, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_login_find(struct store *store, const char *id,
                                           store_login_fn *visit, void *context);

// store_login_end ends the sessions whose id begins with that.
CH_CHECKED enum ch_status store_login_end(struct store *store, const char *id,
                                          char error[STORE_ERROR_SIZE]);

// store_login_seen notes that a session is used.
CH_CHECKED enum ch_status store_login_seen(struct store *store, const char *id,
                                           int64_t now_ms,
                                           char error[STORE_ERROR_SIZE]);

// store_list_logins visits all sessions, the latest first.
CH_CHECKED enum ch_status store_list_logins(struct store *store, store_login_fn *visit,
                                            void *context);

// store_audit_add adds an entry; store_list_audit visits the latest that have a text in
// them (empty: any), of one project or, where that is empty, of all.
CH_CHECKED enum ch_status store_audit_add(struct store *store,
                                          const struct store_audit_entry *entry,
                                          char error[STORE_ERROR_SIZE]);
CH_CHECKED enum ch_status store_list_audit(struct store *store, const char *project,
                                           const char *text, store_audit_fn *visit,
                                           void *context);

// store_token is a token that somebody made. Strings live until the visitor returns.
struct store_token {
    const char *sum;
    const char *name;
    unsigned scopes;
    const char *project; // empty: all
    int64_t expires_ms;  // 0: never
    int64_t created_ms;
    const char *who; // made it
};

typedef void store_token_fn(void *context, const struct store_token *token);

// store_token_add keeps a token, and removes those that expired. CH_ERR_LIMIT: there
// are most others, or one of that name.
CH_CHECKED enum ch_status store_token_add(struct store *store,
                                          const struct store_token *token, size_t most,
                                          char error[STORE_ERROR_SIZE]);

// store_token_remove removes the token with that sum. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status store_token_remove(struct store *store, const char *sum,
                                             char error[STORE_ERROR_SIZE]);

// store_list_tokens visits all tokens, by name.
CH_CHECKED enum ch_status store_list_tokens(struct store *store, store_token_fn *visit,
                                            void *context);

// store_user_salt reads the secret that pseudonyms of users are made with
// (user_name.h). A store without one keeps fresh; NULL: it is only read, and out is
// empty then.
CH_CHECKED enum ch_status store_user_salt(struct store *store, const char *fresh,
                                          char out[USER_SALT_SIZE],
                                          char error[STORE_ERROR_SIZE]);

// store_sweep_words takes one step, from the word that the step before ended at (0: the
// first), of deleting from searches what no report holds any more, and returns whether
// there is another one.
CH_CHECKED enum ch_status store_sweep_words(struct store *store, int64_t *from,
                                            bool *out_more,
                                            char error[STORE_ERROR_SIZE]);

// store_erase removes at most STORE_TRIM_STEP reports that the filter accepts, with all
// that was counted of them, and returns how many: 0 when none is left. Then searches
// are to be swept. The users that the filter names are counted in no group any more.
CH_CHECKED enum ch_status store_erase(struct store *store,
                                      const struct store_filter *filter,
                                      size_t *out_removed,
                                      char error[STORE_ERROR_SIZE]);
