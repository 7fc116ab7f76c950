// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/made_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"

// TOKEN_MARK begins each token, so that scanners of repositories find one.
#define TOKEN_MARK "crashhook_"

enum { TOKEN_BYTES = 20, READ_AGAIN_MS = 2000, DETAIL_SIZE = 400 };

_Static_assert(sizeof(TOKEN_MARK) + 2 * TOKEN_BYTES <= MADE_TOKEN_SIZE, "a token fits");

// token_list is the tokens of the store on their way to access.
struct token_list {
    struct access_grant *grants; // ACCESS_MADE
    size_t count;
};

static void take_made_token(void *context, const struct store_token *token)
{
    struct token_list *list = context;
    if (list->count == ACCESS_MADE)
        return;
    struct access_grant *grant = &list->grants[list->count++];
    *grant = (struct access_grant){ .named = true,
                                    .scopes = token->scopes,
                                    .expires_ms = token->expires_ms };
    entry_copy(grant->sum, sizeof(grant->sum), token->sum);
    entry_copy(grant->name, sizeof(grant->name), token->name);
    entry_copy(grant->project, sizeof(grant->project), token->project);
}

// read_made_tokens hands the tokens of the store to access; on failure those of before
// stay.
static enum ch_status read_made_tokens(struct collector *collector)
{
    struct token_list list = { .grants = calloc(ACCESS_MADE, sizeof(*list.grants)) };
    if (list.grants == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = store_list_tokens(collector->store, take_made_token, &list);
    if (status == CH_OK)
        access_set_made(collector->access, list.grants, list.count);
    else
        free(list.grants);
    return status;
}

static void *read_tokens_again(void *context)
{
    struct collector *collector = context;
    while (background_pause(&collector->made_tokens, READ_AGAIN_MS)) {
        enum ch_status status = read_made_tokens(collector);
        (void)status; // those of before stay
    }
    return NULL;
}

enum ch_status made_tokens_start(struct collector *collector)
{
    if (!access_needed(collector->access))
        return CH_OK;
    enum ch_status status = read_made_tokens(collector);
    (void)status; // the thread reads them again
    return background_start(&collector->made_tokens, read_tokens_again, collector);
}

void made_tokens_stop(struct collector *collector)
{
    background_deinit(&collector->made_tokens);
}

// read_expiry reads when a token expires, which is in the future.
static bool read_expiry(const char *text, int64_t now_ms, int64_t *out)
{
    *out = 0;
    if (text == NULL || text[0] == 0)
        return true;
    if (timestamp_read_span(text, out) == CH_OK) {
        *out += now_ms;
        return *out > now_ms;
    }
    return timestamp_read(text, now_ms, out) == CH_OK && *out > now_ms;
}

// check_asked reads what is asked for into out; false: it failed the request.
static bool check_asked(struct http_request *request, const struct made_token *asked,
                        struct store_token *out)
{
    const struct access_grant *who = &request->who;
    const char *project = asked->project != NULL && asked->project[0] != 0
                              ? asked->project
                              : who->project;
    struct access_grant other;
    out->name = asked->name != NULL ? asked->name : "";
    out->project = project;
    if (!access_needed(collector_of(request)->access))
        http_fail(request, 400, "tokens need a collector with --token-file");
    else if (!access_is_name(out->name, ACCESS_NAME_SIZE))
        http_fail(
            request, 400,
            "a token needs a name of letters, digits and -_.@+ alone, 63 at most");
    else if (asked->scopes == NULL || !access_read_scopes(asked->scopes, &out->scopes))
        http_fail(request, 400,
                  "scopes are some of send, read, triage, symbols and admin, with"
                  " commas");
    else if ((out->scopes & ~who->scopes) != 0)
        http_fail(request, 403, "you lack a scope that this token would have");
    else if (project[0] != 0 &&
             (project[0] == '.' || !access_is_name(project, ENTRY_PROJECT_SIZE)))
        http_fail(request, 400,
                  "the name of a project has letters, digits and -_.@+ alone, 63 at"
                  " most, and does not begin with a dot");
    else if (!collector_shows(request, project))
        http_fail(request, 403, "this token would be of another project than you");
    else if (!read_expiry(asked->expires, out->created_ms, &out->expires_ms))
        http_fail(request, 400,
                  "expires is not a time such as 90d, or a day to come such as"
                  " 2030-12-01");
    else if (access_find_name(collector_of(request)->access, out->name, &other))
        http_fail(request, 409, "the token file has this name");
    else
        return true;
    return false;
}

bool made_token_make(struct http_request *request, const struct made_token *asked,
                     char out[MADE_TOKEN_SIZE])
{
    unsigned char bytes[TOKEN_BYTES];
    char hex[2 * TOKEN_BYTES + 1];
    char sum[SHA256_HEX_SIZE];
    char detail[DETAIL_SIZE];
    char scopes[64];
    char error[STORE_ERROR_SIZE];
    struct store_token token = { .sum = sum,
                                 .who = request->who.name,
                                 .created_ms = timestamp_now() };
    if (!check_asked(request, asked, &token))
        return false;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        http_fail(request, 503, "there are no random numbers");
        return false;
    }
    hex_encode(bytes, sizeof(bytes), hex);
    (void)snprintf(out, MADE_TOKEN_SIZE, TOKEN_MARK "%s", hex);
    sha256_hex(out, strlen(out), sum);
    access_write_scopes(token.scopes, scopes, sizeof(scopes));
    (void)snprintf(detail, sizeof(detail), "%s, %s%s%s", token.name, scopes,
                   token.project[0] != 0 ? ", project " : "", token.project);
    if (!api_audit(request, "token made", detail))
        return false;
    enum ch_status status =
        store_token_add(collector_of(request)->store, &token, ACCESS_MADE, error);
    if (status == CH_ERR_LIMIT)
        http_fail(request, 409, "there is a token of this name, or there are %d",
                  ACCESS_MADE);
    else if (status != CH_OK ||
             (status = read_made_tokens(collector_of(request))) != CH_OK)
        api_fail_store(request, status, "token");
    return status == CH_OK;
}

// token_search is a token that is looked for, or a list of those that may be seen.
struct token_search {
    struct http_request *request;
    const char *id; // NULL: all
    store_token_fn *visit;
    void *context;
    char sum[SHA256_HEX_SIZE]; // of the one that was found
    char name[ACCESS_NAME_SIZE];
};

static void see_made_token(void *context, const struct store_token *token)
{
    struct token_search *search = context;
    if (!collector_shows(search->request, token->project))
        return;
    if (search->id == NULL) {
        search->visit(search->context, token);
        return;
    }
    if (strncmp(token->sum, search->id, MADE_TOKEN_ID_SIZE - 1) != 0)
        return;
    entry_copy(search->sum, sizeof(search->sum), token->sum);
    entry_copy(search->name, sizeof(search->name), token->name);
}

enum ch_status made_tokens_list(struct http_request *request, store_token_fn *visit,
                                void *context)
{
    struct token_search search = { .request = request,
                                   .visit = visit,
                                   .context = context };
    return store_list_tokens(collector_of(request)->store, see_made_token, &search);
}

bool made_token_revoke(struct http_request *request, const char *id)
{
    struct collector *collector = collector_of(request);
    struct token_search search = { .request = request, .id = id };
    char error[STORE_ERROR_SIZE];
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (strlen(id) == MADE_TOKEN_ID_SIZE - 1)
        status = store_list_tokens(collector->store, see_made_token, &search);
    if (status == CH_OK && search.sum[0] == 0)
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK && !api_audit(request, "token revoked", search.name))
        return false;
    if (status == CH_OK)
        status = store_token_remove(collector->store, search.sum, error);
    if (status == CH_OK)
        status = read_made_tokens(collector);
    if (status != CH_OK)
        api_fail_store(request, status, "token");
    return status == CH_OK;
}

enum { COOKIE_BYTES = 32, SEEN_MS = 3600000 };

struct found_session {
    char token[SHA256_HEX_SIZE];
    int64_t seen_ms;
};

static void take_session(void *context, const struct store_login *login)
{
    struct found_session *found = context;
    entry_copy(found->token, sizeof(found->token), login->token);
    found->seen_ms = login->seen_ms;
}

bool sessions_find(void *collector, const char *cookie, struct access_grant *out)
{
    struct collector *own = collector;
    struct found_session found;
    char sum[SHA256_HEX_SIZE];
    char error[STORE_ERROR_SIZE];
    int64_t now_ms = timestamp_now();
    if (strlen(cookie) != SHA256_HEX_SIZE - 1)
        return false;
    sha256_hex(cookie, strlen(cookie), sum);
    if (store_login_find(own->store, sum, take_session, &found) != CH_OK ||
        !access_find_sum(own->access, found.token, out))
        return false;
    if (now_ms - found.seen_ms > SEEN_MS) {
        // A session that is not noted as used is still one.
        enum ch_status status = store_login_seen(own->store, sum, now_ms, error);
        (void)status;
    }
    return true;
}

enum ch_status sessions_begin(struct http_request *request,
                              const struct access_grant *grant,
                              char out[SHA256_HEX_SIZE])
{
    unsigned char bytes[COOKIE_BYTES];
    char sum[SHA256_HEX_SIZE];
    char address[64];
    char error[STORE_ERROR_SIZE];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return CH_ERR_IO;
    hex_encode(bytes, sizeof(bytes), out);
    sha256_hex(out, strlen(out), sum);
    http_peer(request, address, sizeof(address));
    const struct store_login login = { .id = sum,
                                       .token = grant->sum,
                                       .name = grant->name,
                                       .address = address,
                                       .created_ms = timestamp_now() };
    return store_login_add(collector_of(request)->store, &login, error);
}

void sessions_end(struct http_request *request)
{
    const char *cookie = http_cookie(request);
    char sum[SHA256_HEX_SIZE];
    char error[STORE_ERROR_SIZE];
    if (cookie == NULL)
        return;
    sha256_hex(cookie, strlen(cookie), sum);
    // The browser forgets the cookie either way.
    enum ch_status status = store_login_end(collector_of(request)->store, sum, error);
    (void)status;
}
