// SPDX-License-Identifier: Apache-2.0
#include "cli/session/collector_client.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session/command.h"
#include "net/http.h"
#include "report/value/report.h"

// What separates the addresses of CRASHHOOK_URL.
#define URL_SPACE " \t\n"

enum { ANSWER_OK = 200, ANSWER_MISSING = 404, ID_SIZE = 100 };

bool collector_is_url(const char *argument)
{
    return strncmp(argument, "http://", 7) == 0 ||
           strncmp(argument, "https://", 8) == 0;
}

enum ch_status collector_base(const struct session *session, const char *url,
                              struct text *out)
{
    const char *at = url != NULL ? url : session->settings.url;
    for (; at != NULL && *at != 0; at += strspn(at, URL_SPACE)) {
        size_t length = strcspn(at, URL_SPACE);
        struct text CH_CLEANUP(text_deinit) one = { 0 };
        text_append(&one, at, length);
        if (text_ok(&one) && collector_is_url(one.bytes)) {
            size_t scheme = strcspn(one.bytes, ":") + strlen("://");
            text_append(out, one.bytes, scheme + strcspn(one.bytes + scheme, "/?#"));
            return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
        }
        at += length;
    }
    (void)command_fail("cannot find a collector: neither --url nor CRASHHOOK_URL names"
                       " one by http:// or https://");
    return CH_ERR_NOT_FOUND;
}

void collector_encode(struct text *out, const char *value)
{
    for (; *value != 0; value++) {
        unsigned char c = (unsigned char)*value;
        if (isalnum(c) || strchr("-._~:/", c) != NULL)
            text_append(out, value, 1);
        else
            text_appendf(out, "%%%02X", c);
    }
}

// say_refused reports in one line why the collector gave nothing. CH_ERR_NOT_FOUND: it
// has no such thing.
static enum ch_status say_refused(const char *what, const char *url,
                                  const struct http_reply *reply)
{
    json_auto_t *answer = json_loadb(reply->body.bytes != NULL ? reply->body.bytes : "",
                                     reply->body.size, 0, NULL);
    const char *said = report_string(answer, "error");
    if (said != NULL)
        (void)command_fail("cannot %s '%s': %s", what, url, said);
    else
        (void)command_fail("cannot %s '%s': it answers %d", what, url, reply->status);
    return reply->status == ANSWER_MISSING ? CH_ERR_NOT_FOUND : CH_ERR_IO;
}

// is_configured returns true if base is the collector that reports go to, or none is
// configured: its token is for no other.
static bool is_configured(const struct session *session, const char *base)
{
    const char *at = session->settings.url;
    if (at == NULL)
        return true;
    for (; *at != 0; at += strspn(at, URL_SPACE)) {
        size_t length = strcspn(at, URL_SPACE);
        if (strncmp(at, base, strlen(base)) == 0 &&
            (length == strlen(base) || at[strlen(base)] == '/'))
            return true;
        at += length;
    }
    return false;
}

// exchange is a request: for base and path, with body if it is not NULL.
struct exchange {
    const char *method; // NULL: POST with a body, otherwise GET
    const char *base;
    const char *path;
    const char *body;
    bool quiet; // a status other than 200 is not reported
};

// verb_of reports in a message what was tried.
static const char *verb_of(const struct exchange *what)
{
    return what->body != NULL || what->method != NULL ? "change" : "read";
}

// ask_collector sends a request; CH_ERR_NOT_FOUND: it answered with another status than
// 200, which is in reply.
static enum ch_status ask_collector(const struct session *session, const char *url,
                                    const struct exchange *what,
                                    struct http_reply *reply)
{
    struct text CH_CLEANUP(text_deinit) token = { 0 };
    const char *why = NULL;
    if (token_read(session->settings.token_file, session->settings.token, &token,
                   &why) != CH_OK) {
        (void)command_fail("cannot use the token: %s", why);
        return CH_ERR_IO;
    }
    bool known = is_configured(session, what->base);
    const struct http_request request = {
        .method = what->method,
        .url = url,
        .content_type = "application/json",
        .body = what->body,
        .size = what->body != NULL ? strlen(what->body) : 0,
        .token = known ? token.bytes : NULL,
        .timeout_ms = COLLECTOR_ANSWER_MAX_MS,
        .reply_max_bytes = REPORT_EXPANDED_MAX_BYTES
    };
    if (http_send(&request, reply) == CH_OK)
        return reply->status == ANSWER_OK ? CH_OK : CH_ERR_NOT_FOUND;
    (void)command_fail("cannot %s '%s': %s", verb_of(what), url, reply->error);
    return CH_ERR_IO;
}

static enum ch_status keep_reply(const struct http_reply *reply, struct text *out)
{
    text_append(out, reply->body.bytes != NULL ? reply->body.bytes : "",
                reply->body.size);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

// exchange sends a request and appends the answer.
static enum ch_status exchange(const struct session *session,
                               const struct exchange *what, struct text *out)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    text_append_string(&url, what->base);
    text_append_string(&url, what->path);
    if (!text_ok(&url))
        return CH_ERR_NO_MEMORY;
    enum ch_status status = ask_collector(session, url.bytes, what, &reply);
    if (status == CH_OK)
        return keep_reply(&reply, out);
    if (status != CH_ERR_NOT_FOUND || what->quiet)
        return status;
    return say_refused(verb_of(what), url.bytes, &reply);
}

enum ch_status collector_get(const struct session *session, const char *base,
                             const char *path, struct text *out)
{
    return exchange(session, &(struct exchange){ .base = base, .path = path }, out);
}

enum ch_status collector_find(const struct session *session, const char *base,
                              const char *path, struct text *out)
{
    return exchange(
        session, &(struct exchange){ .base = base, .path = path, .quiet = true }, out);
}

enum ch_status collector_post(const struct session *session, const char *base,
                              const char *path, const json_t *value, struct text *out)
{
    char *body = json_dumps(value, JSON_COMPACT);
    const struct exchange what = { .base = base, .path = path, .body = body };
    enum ch_status status =
        body != NULL ? exchange(session, &what, out) : CH_ERR_NO_MEMORY;
    free(body);
    return status;
}

enum ch_status collector_delete(const struct session *session, const char *base,
                                const char *path, struct text *out)
{
    const struct exchange what = { .method = "DELETE", .base = base, .path = path };
    return exchange(session, &what, out);
}

// id_in_path copies what follows word in an address, up to the next separator; false:
// the address has no such part.
static bool id_in_path(const char *url, const char *word, char out[ID_SIZE])
{
    const char *at = strstr(url, word);
    if (at == NULL)
        return false;
    at += strlen(word);
    size_t length = strspn(at, "0123456789abcdef-");
    if (length == 0 || length >= ID_SIZE)
        return false;
    memcpy(out, at, length);
    out[length] = 0;
    return true;
}

// find_newest replaces the id of a group by that of its newest report.
static enum ch_status find_newest(const struct session *session, const char *base,
                                  char id[ID_SIZE])
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    text_appendf(&path, "/api/v1/reports?limit=1&group=%s", id);
    enum ch_status status = collector_get(session, base, path.bytes, &body);
    if (status != CH_OK)
        return status;
    json_auto_t *answer = json_loadb(body.bytes, body.size, 0, NULL);
    const char *found =
        report_string(json_array_get(json_object_get(answer, "reports"), 0), "id");
    if (found == NULL || strlen(found) >= ID_SIZE) {
        (void)command_fail("cannot find a report of group '%s' at '%s'", id, base);
        return CH_ERR_NOT_FOUND;
    }
    memcpy(id, found, strlen(found) + 1);
    return CH_OK;
}

enum ch_status collector_report(const struct session *session, const char *url,
                                json_t **out)
{
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct report_error error;
    char id[ID_SIZE];
    enum ch_status status = collector_base(session, url, &base);
    bool group = !id_in_path(url, "/reports/", id);
    if (status == CH_OK && group && !id_in_path(url, "/groups/", id)) {
        (void)command_fail("cannot read '%s': it names no report and no group", url);
        status = CH_ERR_NOT_FOUND;
    }
    if (status == CH_OK && group)
        status = find_newest(session, base.bytes, id);
    if (status != CH_OK)
        return status;
    text_appendf(&path, "/api/v1/reports/%s?form=expanded", id);
    status = collector_get(session, base.bytes, path.bytes, &body);
    if (status != CH_OK)
        return status;
    status = report_parse(body.bytes, body.size, out, &error);
    if (status != CH_OK)
        (void)command_fail("cannot read report '%s': %s", url, error.text);
    return status;
}

enum ch_status collector_group(const struct session *session, const char *base,
                               const char *group, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    char id[ID_SIZE];
    if (!id_in_path(group, collector_is_url(group) ? "/groups/" : "", id)) {
        (void)command_fail("'%s' is neither the id of a group nor its page", group);
        return CH_ERR_MALFORMED;
    }
    text_appendf(&path, "/api/v1/groups/%s", id);
    enum ch_status status = collector_get(session, base, path.bytes, &body);
    if (status != CH_OK)
        return status;
    json_t *found = json_loadb(body.bytes, body.size, 0, NULL);
    if (report_string(found, "id") == NULL) {
        json_decref(found);
        (void)command_fail("cannot understand the collector: it sent no group");
        return CH_ERR_IO;
    }
    *out = found;
    return CH_OK;
}
