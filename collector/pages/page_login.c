// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/made_tokens.h"
#include "collector/server/access.h"
#include "collector/server/form.h"

enum { DAY_S = 86400 };

void page_login_write(struct text *out, const char *to, const char *complaint)
{
    page_begin(out, "Log in", NULL);
    html_write(out,
               "<form class=\"card login\" method=\"post\" action=\"/login\">"
               "<h1>Log in</h1><p>%s</p><input type=\"hidden\" name=\"to\""
               " value=\"%.*s\"><label><span>Token</span><input type=\"password\""
               " name=\"token\" required autofocus autocomplete=\"current-password\">"
               "</label><button>Log in</button></form>",
               complaint, HTTP_TARGET_SIZE - 1, to);
    page_end(out);
}

// is_own_path is true for a path of this collector, and false for what leads to another
// site.
static bool is_own_path(const char *to)
{
    // Browsers read `//host` and `/\host` as the address of another host.
    if (to[0] != '/' || to[1] == '/' || to[1] == '\\' || strlen(to) >= HTTP_TARGET_SIZE)
        return false;
    for (; *to != 0; to++) {
        if ((unsigned char)*to <= ' ' || (unsigned char)*to > '~')
            return false;
    }
    return true;
}

static void set_cookie(struct http_request *request, const char *value, int seconds)
{
    // HttpOnly hides the token from scripts; SameSite=Lax keeps it out of forms of
    // other sites.
    text_appendf(&request->answer.cookie,
                 ACCESS_COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
                 value, seconds, request->secure ? "; Secure" : "");
}

// may_try returns true if this address may try to sign in; each attempt counts.
static bool may_try(struct http_request *request)
{
    enum { ADDRESSES = 4096 };
    char address[64];
    char sum[SHA256_HEX_SIZE];
    http_peer(request, address, sizeof(address));
    sha256_hex(address, strlen(address), sum);
    sum[4] = 0;
    size_t bucket = strtoul(sum, NULL, 16) % ADDRESSES;
    unsigned wait_s =
        rate_take(&collector_of(request)->sign_ins, bucket, timestamp_now());
    if (wait_s == 0)
        return true;
    http_later(request, 429, wait_s, "too many attempts to sign in, wait %u s", wait_s);
    return false;
}

void page_post_login(struct http_request *request)
{
    struct access *access = collector_of(request)->access;
    struct access_grant grant;
    char cookie[SHA256_HEX_SIZE];
    struct form form;
    if (form_read(&request->body, &form) != CH_OK) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    if (!may_try(request))
        return;
    const char *to = form_value(&form, "to");
    const char *sent = form_value(&form, "token");
    to = to != NULL && is_own_path(to) ? to : "/";
    if (!access_needed(access) || sent == NULL ||
        !access_find_token(access, sent, strlen(sent), &grant)) {
        request->answer.status = 401;
        request->answer.content_type = "text/html; charset=utf-8";
        page_login_write(&request->answer.body, to, "This token is not known here.");
        return;
    }
    request->who = grant;
    if (!api_audit(request, "sign-in", ""))
        return;
    if (sessions_begin(request, &grant, cookie) != CH_OK) {
        http_fail(request, 503, "the store could not keep this, try again later");
        return;
    }
    set_cookie(request, cookie, STORE_LOGIN_DAYS * DAY_S);
    http_see_other(request, "%s", to);
}

void page_post_logout(struct http_request *request)
{
    sessions_end(request);
    set_cookie(request, "", 0);
    http_see_other(request, "/");
}
