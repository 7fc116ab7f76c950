// SPDX-License-Identifier: Apache-2.0
//
// Access control: tokens and users with scopes and projects, and protection against the
// two ways in which a browser can be turned against a collector that it can reach (a
// page of another site that sends requests in its user's name, and DNS rebinding, a
// name that is made to resolve to 127.0.0.1).
//
// A line of the file is a token, or its sum, and what it may do; a bare token may do
// everything unless the file says otherwise:
//
//   default scopes=send
//   8d9c4f... name=ci scopes=symbols project=shop
//   sha256=2c26b46b... name=kim scopes=read,triage
//   user name=lee scopes=read          (by a proxy's header alone)
//   group name=ops scopes=read,triage  (of people whom a proxy names)
//   project name=shop keep=90d keep-per-group=500 rate=600/1m
//
// Where there is a file, people can make more tokens, which are in the store
// (requests/made_tokens.h).
//
// Tokens are kept as their sums: finding one takes the same time whatever it shares
// with others. All functions may be called from any thread.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "collector/entry/entry.h"
#include "collector/server/rate.h"
#include "collector/store/store.h"
#include "report/file/digest.h"

enum {
    ACCESS_TOKENS = 16384,
    ACCESS_MADE = 1000,     // tokens that people made
    ACCESS_PROJECTS = 1024, // with settings of their own
    ACCESS_TOKEN_SIZE = 512,
    ACCESS_NAME_SIZE = 64,
    ACCESS_WHY_SIZE = 512,
};

// access_scope is what a token may do, as bits.
enum access_scope {
    ACCESS_SEND = 1,    // reports
    ACCESS_READ = 2,    // reports, groups, alerts
    ACCESS_TRIAGE = 4,  // decide about groups
    ACCESS_SYMBOLS = 8, // send and fetch debug files and sources
    ACCESS_ADMIN = 16,  // remove reports, see who did what, revoke sessions
    ACCESS_ALL = 31,
};

// access_grant is what one token or user may do.
struct access_grant {
    char sum[SHA256_HEX_SIZE]; // of the token; empty: a user without one
    char name[ACCESS_NAME_SIZE];
    bool named;
    bool group; // of people; neither a token nor a user
    unsigned scopes;
    char project[ENTRY_PROJECT_SIZE]; // empty: all of them
    int64_t expires_ms;               // 0: never
    size_t index;                     // of its rate
};

// access_project is what is set of one project; the options of the collector hold for
// those that nothing is set of.
struct access_project {
    struct store_project_retention keep; // with its name
    struct rate_limit rate;              // of all its tokens together
    int64_t symbols;                     // bytes of debug files; 0: no limit
    size_t index;                        // in the file
};

struct access {
    const char *path;            // NULL: there is no file, and nobody needs a token
    const char *user_header;     // by which a proxy names users; NULL: none does
    const char *groups_header;   // by which it names their groups; NULL: none
    const char *proxy;           // its address
    pthread_rwlock_t lock;       // guards what follows
    struct access_grant *grants; // by sum
    size_t count;
    struct access_grant *made; // by sum; of the store
    size_t made_count;
    struct access_project *projects;
    size_t project_count;
    bool users; // some have names
};

// access_init reads the file; path may be NULL. On failure why is a sentence.
// access_reload reads it again, and keeps what was read before if that fails.
CH_CHECKED enum ch_status access_init(const char *path, struct access *out,
                                      char why[ACCESS_WHY_SIZE]);
CH_CHECKED enum ch_status access_reload(struct access *access,
                                        char why[ACCESS_WHY_SIZE]);
void access_deinit(struct access *access);

// access_set_made takes, and frees, the tokens that people made, in place of those
// before.
void access_set_made(struct access *access, struct access_grant *made, size_t count);

// access_needed returns true if requests need a token; access_has_users whether names
// stand in the file.
bool access_needed(const struct access *access);
bool access_has_users(struct access *access);

// access_anybody is what a request may do where no token is needed.
struct access_grant access_anybody(void);

// access_find_token, access_find_sum and access_find_name look for a token as it was
// sent, for its sum, and for a token or user of a name.
bool access_find_token(struct access *access, const char *sent, size_t length,
                       struct access_grant *out);
bool access_find_sum(struct access *access, const char *sum, struct access_grant *out);
bool access_find_name(struct access *access, const char *name,
                      struct access_grant *out);

// access_find_person looks for what a person may do whom a proxy names: by the line of
// that user, or else by the lines of groups, a list with commas (NULL: of none). The
// first of these lines has the project; scopes are those of all lines of that project.
bool access_find_person(struct access *access, const char *name, const char *groups,
                        struct access_grant *out);

// access_is_name returns true if a name has the characters of the names of tokens and
// projects, and less than size bytes.
bool access_is_name(const char *name, size_t size);

// access_read_scopes reads scopes as they stand in the file: `read,triage`.
bool access_read_scopes(const char *text, unsigned *out);

// access_find_project looks for what is set of a project.
bool access_find_project(struct access *access, const char *name,
                         struct access_project *out);

// access_list_retention fills out, of ACCESS_PROJECTS, with what projects keep, and
// returns how many there are.
size_t access_list_retention(struct access *access,
                             struct store_project_retention *out);

// access_authorized returns true if an Authorization header (NULL: none was sent)
// carries a token, as Bearer or, where basic is set, as the password of Basic.
bool access_authorized(struct access *access, const char *authorization, bool basic,
                       struct access_grant *out);

// access_write_scopes writes scopes as they stand in the file.
void access_write_scopes(unsigned scopes, char *out, size_t size);

// ACCESS_COOKIE is the name of the cookie that signing in sets.
#define ACCESS_COOKIE "crashhook_login"

// access_same_origin returns true if a browser sent a form from a page of this
// collector: by Sec-Fetch-Site, or, for a browser that does not send it, by an Origin
// that names host. Without either header it is false. Each argument may be NULL.
bool access_same_origin(const char *fetch_site, const char *origin, const char *host);

// access_host_ok returns true if a Host header (NULL: none was sent) names an IP
// address or localhost: the only names that a collector without tokens answers to.
bool access_host_ok(const char *host);
