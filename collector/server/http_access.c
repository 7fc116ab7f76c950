// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "collector/server/http_call.h"

static bool head_is(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

// key_ok: letters, digits and the signs of a token (RFC 9110, 5.6.2), so no space
// before the colon.
static bool key_ok(const char *key, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)key[i]) &&
            (key[i] == 0 || strchr("!#$%&'*+-.^_`|~", key[i]) == NULL))
            return false;
    }
    return size != 0;
}

// value_ok: no control character but tabs, so no line that was folded.
static bool value_ok(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)value[i] < ' ' && value[i] != '\t')
            return false;
    }
    return true;
}

static bool digits_only(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)value[i]))
            return false;
    }
    return size != 0;
}

void http_head_add(struct http_head *head, const char *key, size_t key_size,
                   const char *value, size_t value_size)
{
    if (!key_ok(key, key_size) || !value_ok(value, value_size))
        head->strange = true;
    if (head_is(key, key_size, "Content-Length")) {
        head->lengths++;
        head->strange |= !digits_only(value, value_size);
    } else if (head_is(key, key_size, "Transfer-Encoding")) {
        head->encodings++;
        head->strange |= !head_is(value, value_size, "chunked");
    } else if (head_is(key, key_size, "Host")) {
        head->hosts++;
    }
}

const char *http_head_doubt(const struct http_head *head, const char *version)
{
    bool old = strcmp(version, "HTTP/1.0") == 0;
    if (head->strange)
        return "a header of the request is not as RFC 9110 has them";
    if (head->lengths + head->encodings > 1)
        return "the request says more than once how long its body is";
    if (head->encodings != 0 && old)
        return "HTTP/1.0 knows no chunks";
    if (head->hosts > 1 || (head->hosts == 0 && !old))
        return "the request names no host, or more than one";
    return NULL;
}

// is_from_proxy returns true if the proxy that is trusted sent the request.
static bool is_from_proxy(struct call *call)
{
    const struct access *access = call->options->access;
    char peer[64];
    if (access->proxy == NULL)
        return false;
    http_peer_address(call, peer, sizeof(peer));
    return strcmp(peer, access->proxy) == 0;
}

void http_peer(struct http_request *request, char *out, size_t size)
{
    struct call *call = (struct call *)request;
    const char *forwarded = http_header(call, "X-Forwarded-For");
    http_peer_address(call, out, size);
    if (forwarded == NULL || !is_from_proxy(call))
        return;
    // The proxy itself wrote the last address; those before it are a stranger's words.
    const char *last = strrchr(forwarded, ',');
    last = last != NULL ? last + 1 : forwarded;
    snprintf(out, size, "%s", last + strspn(last, " "));
}

// name_user takes the user that a proxy names, and returns whether one is named. A
// header from elsewhere is an attempt to be somebody else.
static bool name_user(struct call *call)
{
    struct access *access = call->options->access;
    struct http_request *request = &call->request;
    const char *name =
        access->user_header != NULL ? http_header(call, access->user_header) : NULL;
    const char *groups =
        access->groups_header != NULL ? http_header(call, access->groups_header) : NULL;
    if (name == NULL)
        return false;
    if (!is_from_proxy(call))
        http_fail(request, 403, "only the proxy that is trusted names users");
    else if (!access_find_person(access, name, groups, &request->who))
        http_fail(request, 403,
                  "neither this user nor a group of theirs is known here");
    return true;
}

// identify_key takes the token that a client of Sentry sends as the key of its DSN: in
// the address, or as `X-Sentry-Auth: Sentry sentry_key=KEY, sentry_version=7`.
static bool identify_key(struct call *call)
{
    static const char mark[] = "sentry_key=";
    struct access *access = call->options->access;
    const char *key = http_parameter_value(&call->request, "sentry_key");
    if (key != NULL)
        return access_find_token(access, key, strlen(key), &call->request.who);
    const char *header = http_header(call, "X-Sentry-Auth");
    const char *at = header != NULL ? strstr(header, mark) : NULL;
    if (at == NULL)
        return false;
    at += sizeof(mark) - 1;
    return access_find_token(access, at, strcspn(at, ", "), &call->request.who);
}

// identify finds out who sent the request, in a way that its route accepts.
static bool identify(struct call *call)
{
    const struct http_options *options = call->options;
    struct access_grant *who = &call->request.who;
    enum http_access access = call->request.route->access;
    bool browser = access != HTTP_WRITE && access != HTTP_KEY;
    if (!access_needed(options->access)) {
        *who = access_anybody();
        return true;
    }
    if (access == HTTP_KEY && identify_key(call))
        return true;
    if (browser && name_user(call))
        return true;
    if (access_authorized(options->access, http_header(call, "Authorization"), browser,
                          who))
        return true;
    call->by_session = browser && http_cookie(&call->request) != NULL;
    return call->by_session;
}

// check_scopes fails a request whose token or session lacks the scope for it.
static void check_scopes(struct call *call)
{
    const struct http_request *request = &call->request;
    char scopes[64];
    if (request->answer.status != 0 || call->by_session ||
        (request->who.scopes & request->route->scopes) != 0)
        return;
    access_write_scopes(request->route->scopes, scopes, sizeof(scopes));
    http_fail(&call->request, 403, "this token lacks the scope %s", scopes);
}

// fail_unknown refuses a request whose sender is not known in the way that its route
// accepts: 401 asks for a token, 403 says that the one that was sent comes in a wrong
// way.
static void fail_unknown(struct call *call)
{
    struct access *access = call->options->access;
    struct access_grant who;
    bool basic =
        access_authorized(access, http_header(call, "Authorization"), true, &who);
    bool named = access->user_header != NULL && is_from_proxy(call) &&
                 http_header(call, access->user_header) != NULL;
    if (basic || named)
        http_fail(&call->request, 403,
                  "this request takes `Authorization: Bearer` alone");
    else
        http_fail(&call->request, 401, "a valid token is needed");
}

void http_access_check(struct call *call)
{
    struct access *tokens = call->options->access;
    enum http_access access = call->request.route->access;
    const char *site = http_header(call, "Sec-Fetch-Site");
    const char *host = http_header(call, "Host");
    bool form = access == HTTP_FORM || access == HTTP_LOGIN;
    if (access == HTTP_OPEN)
        return;
    if (!access_needed(tokens) && !access_host_ok(host))
        http_fail(&call->request, 403,
                  "without a token file the collector answers to an address or"
                  " localhost alone");
    else if (access != HTTP_LOGIN && !identify(call))
        fail_unknown(call);
    else if (form && !access_same_origin(site, http_header(call, "Origin"), host))
        http_fail(&call->request, 403, "only pages of this collector may send forms");
    else if ((access == HTTP_WRITE || access == HTTP_KEY) && site != NULL &&
             strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0)
        http_fail(&call->request, 403, "pages of other sites may not send");
    else if (access != HTTP_LOGIN)
        check_scopes(call);
}

void http_access_check_session(struct call *call)
{
    const struct http_options *options = call->options;
    struct http_request *request = &call->request;
    if (!call->by_session)
        return;
    call->by_session = false;
    if (options->session(options->context, http_cookie(request), &request->who))
        check_scopes(call);
    else
        http_fail(request, 401, "a valid token is needed");
}
