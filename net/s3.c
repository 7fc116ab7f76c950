// SPDX-License-Identifier: Apache-2.0
#include "net/s3.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/http.h"

// s3_parts are the parts of an address: strings inside of a copy of it.
struct s3_parts {
    char *bucket;
    char *prefix;
    char *endpoint;
    char *region;
};

static bool is_unreserved(char c)
{
    return isalnum((unsigned char)c) || strchr("-_.~", c) != NULL;
}

// append_encoded appends a value of a query (RFC 3986, section 2.3).
static void append_encoded(const char *value, char *out, size_t size)
{
    size_t at = strlen(out);
    for (; *value != 0 && at + 4 <= size; value++)
        at += (size_t)snprintf(out + at, size - at,
                               is_unreserved(*value) ? "%c" : "%%%02X",
                               (unsigned char)*value);
}

// s3_address_query writes the query that lists objects whose names begin with prefix,
// those after `after`: sorted and encoded as a signature needs them.
static void s3_address_query(const char *prefix, const char *after, char *out,
                             size_t size)
{
    (void)snprintf(out, size, "list-type=2&prefix=");
    append_encoded(prefix, out, size);
    if (after[0] == 0)
        return;
    size_t at = strlen(out);
    (void)snprintf(out + at, size - at, "&start-after=");
    append_encoded(after, out, size);
}

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if (!is_unreserved(name[i]) && name[i] != '/')
            return false;
    }
    return length < S3_NAME_SIZE / 2 && strstr(name, "//") == NULL &&
           strstr(name, "..") == NULL && name[0] != '/';
}

// take_s3_setting takes one setting of the query; false: it is none that is known.
static bool take_s3_setting(char *setting, struct s3_parts *parts)
{
    char *value = strchr(setting, '=');
    if (value == NULL || value[1] == 0)
        return false;
    *value++ = 0;
    if (strcmp(setting, "endpoint") == 0)
        parts->endpoint = value;
    else if (strcmp(setting, "region") == 0)
        parts->region = value;
    else
        return false;
    return true;
}

// split_address takes the copy of an address apart; NULL, or what is wrong with it.
static const char *split_address(char *copy, struct s3_parts *out)
{
    static char nothing[] = "";
    static char region[] = "us-east-1";
    static const char scheme[] = "s3://";
    *out = (struct s3_parts){ .prefix = nothing, .region = region };
    if (strncmp(copy, scheme, strlen(scheme)) != 0)
        return "it does not begin with s3://";
    out->bucket = copy + strlen(scheme);
    char *query = strchr(out->bucket, '?');
    if (query != NULL)
        *query++ = 0;
    char *slash = strchr(out->bucket, '/');
    if (slash != NULL) {
        *slash = 0;
        out->prefix = slash + 1;
    }
    char *rest = NULL;
    for (char *one = query != NULL ? strtok_r(query, "&", &rest) : NULL; one != NULL;
         one = strtok_r(NULL, "&", &rest)) {
        if (!take_s3_setting(one, out))
            return "it has a setting other than endpoint and region";
    }
    if (out->bucket[0] == 0 || !is_name(out->bucket))
        return "it names no bucket";
    if (!is_name(out->prefix))
        return "its prefix has other characters than letters, digits and -_.~/";
    if (out->endpoint != NULL && strncmp(out->endpoint, "http://", 7) != 0 &&
        strncmp(out->endpoint, "https://", 8) != 0)
        return "its endpoint does not begin with http:// or https://";
    return NULL;
}

// copy_variable copies a variable of the environment; false: it does not fit.
static bool copy_variable(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);
    return snprintf(out, size, "%s", value != NULL ? value : "") < (int)size;
}

static const char *read_keys(struct s3 *out)
{
    if (!copy_variable("AWS_ACCESS_KEY_ID", out->key, sizeof(out->key)) ||
        !copy_variable("AWS_SECRET_ACCESS_KEY", out->secret, sizeof(out->secret)) ||
        !copy_variable("AWS_SESSION_TOKEN", out->token, sizeof(out->token)))
        return "a key is too long";
    if (out->key[0] == 0 || out->secret[0] == 0)
        return "AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set";
    return NULL;
}

enum ch_status s3_address_open(const char *address, struct s3 *out,
                               char why[S3_WHY_SIZE])
{
    char copy[S3_URL_SIZE / 2];
    char endpoint[S3_URL_SIZE / 2 + 128];
    struct s3_parts parts;
    struct s3 made = { 0 };
    const char *wrong = "it is too long";
    if (snprintf(copy, sizeof(copy), "%s", address) < (int)sizeof(copy))
        wrong = split_address(copy, &parts);
    if (wrong == NULL)
        wrong = read_keys(&made);
    if (wrong != NULL) {
        (void)snprintf(why, S3_WHY_SIZE, "%s", wrong);
        return CH_ERR_MALFORMED;
    }
    (void)snprintf(made.region, sizeof(made.region), "%s", parts.region);
    (void)snprintf(endpoint, sizeof(endpoint), "https://s3.%s.amazonaws.com",
                   parts.region);
    if (parts.endpoint != NULL)
        (void)snprintf(endpoint, sizeof(endpoint), "%s", parts.endpoint);
    size_t length = strlen(endpoint);
    while (length != 0 && endpoint[length - 1] == '/')
        endpoint[--length] = 0;
    (void)snprintf(made.base, sizeof(made.base), "%s/%s", endpoint, parts.bucket);
    length = strlen(parts.prefix);
    bool slash = length != 0 && parts.prefix[length - 1] != '/';
    (void)snprintf(made.prefix, sizeof(made.prefix), "%.*s%s", S3_NAME_SIZE - 2,
                   parts.prefix, slash ? "/" : "");
    *out = made;
    return CH_OK;
}

enum {
    STALL_MS = 10000, // at less than the rate of a call
    // What is fetched, somebody waits for: a part of an object for PART_MS in all, and
    // longer by its size at 1 MB/s; a whole one, whose size is not known before, as
    // long as it comes at that rate.
    PART_MS = 10000,
    GET_BYTES_A_MS = 1000,
    GET_RATE = GET_BYTES_A_MS * 1000, // bytes a second
    PUT_RATE = 100000,
    LIST_RATE = 1000,
    LIST_BYTES = 4 << 20,
    HEADERS_SIZE = 4096,
    PAGES_MAX = 100000,
    REST_MAX_S = 60, // however long the server asks for
};

// no_bytes is the SHA-256 of nothing.
static const char no_bytes[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// s3_call is one request for an object, or for the bucket.
struct s3_call {
    const char *method;
    const char *name;  // NULL: the bucket
    const char *query; // NULL: none
    const char *sum;
    const char *range; // NULL: none
    FILE *file;
    size_t size;
    FILE *to;
    size_t reply_max;
    uint32_t least_rate; // less for STALL_MS ends it
    uint64_t limit_ms;   // of the whole time, where least_rate is 0
};

// describe_answer makes a message of an answer that refuses: its code is in the body.
static void describe_answer(const struct http_reply *reply, char why[S3_WHY_SIZE])
{
    static const char begin[] = "<Code>";
    const char *body = reply->body.bytes != NULL ? reply->body.bytes : "";
    const char *code = strstr(body, begin);
    code = code != NULL ? code + strlen(begin) : "";
    (void)snprintf(why, S3_WHY_SIZE, "the object store answered with %d %.*s",
                   reply->status, (int)strcspn(code, "<\n") % 64, code);
}

// note_rest notes how long a server that refused asks to be left alone (Retry-After).
static void note_rest(const struct s3 *s3, const struct http_reply *reply)
{
    int64_t rest_s = backoff_wait_s(reply->retry_after_s, 0);
    if (rest_s > REST_MAX_S)
        rest_s = REST_MAX_S;
    if (s3->rest_until_ms != NULL && reply->retry_after_s >= 0)
        *s3->rest_until_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC) + rest_s * 1000;
}

// send_s3 sends a request, and maps the answer to a status.
static enum ch_status send_s3(const struct s3 *s3, const struct s3_call *call,
                              struct http_reply *reply, char why[S3_WHY_SIZE])
{
    char url[S3_URL_SIZE + 2 * S3_NAME_SIZE];
    char headers[HEADERS_SIZE];
    const struct http_signature signature = { s3->region, s3->key, s3->secret };
    (void)snprintf(url, sizeof(url), "%s%s%s%s%s%s", s3->base,
                   call->name != NULL ? "/" : "", call->name != NULL ? s3->prefix : "",
                   call->name != NULL ? call->name : "", call->query != NULL ? "?" : "",
                   call->query != NULL ? call->query : "");
    (void)snprintf(headers, sizeof(headers), "x-amz-content-sha256: %s%s%s%s%s",
                   call->sum, s3->token[0] != 0 ? "\nx-amz-security-token: " : "",
                   s3->token, call->range != NULL ? "\nRange: " : "",
                   call->range != NULL ? call->range : "");
    const struct http_request request = { .method = call->method,
                                          .url = url,
                                          .headers = headers,
                                          .file = call->file,
                                          .size = call->size,
                                          .to = call->to,
                                          .reply_max_bytes = call->reply_max,
                                          .signature = &signature,
                                          .abandon = s3->abandon,
                                          .timeout_ms = call->least_rate != 0
                                                            ? STALL_MS
                                                            : call->limit_ms,
                                          .least_rate = call->least_rate };
    if (http_send(&request, reply) != CH_OK) {
        (void)snprintf(why, S3_WHY_SIZE, "the object store was not reached: %.200s",
                       reply->error);
        return CH_ERR_IO;
    }
    if (reply->status >= 200 && reply->status <= 299)
        return CH_OK;
    describe_answer(reply, why);
    note_rest(s3, reply);
    return reply->status == 404 ? CH_ERR_NOT_FOUND : CH_ERR_IO;
}

static void close_s3_reply(struct http_reply *reply)
{
    http_reply_deinit(reply);
}

enum ch_status s3_put(const struct s3 *s3, const char *name, FILE *file, size_t size,
                      const char sum[SHA256_HEX_SIZE], char why[S3_WHY_SIZE])
{
    struct http_reply CH_CLEANUP(close_s3_reply) reply = { 0 };
    const struct s3_call call = {
        .method = "PUT",
        .name = name,
        .sum = sum,
        .file = file,
        .size = size,
        .least_rate = PUT_RATE,
    };
    enum ch_status status = send_s3(s3, &call, &reply, why);
    return status == CH_ERR_NOT_FOUND ? CH_ERR_IO : status; // there is no bucket
}

enum ch_status s3_get(const struct s3 *s3, const char *name, FILE *to,
                      char why[S3_WHY_SIZE])
{
    struct http_reply CH_CLEANUP(close_s3_reply) reply = { 0 };
    const struct s3_call call = {
        .name = name, .sum = no_bytes, .to = to, .least_rate = GET_RATE
    };
    return send_s3(s3, &call, &reply, why);
}

enum ch_status s3_get_part(const struct s3 *s3, const char *name, uint64_t offset,
                           size_t size, struct text *out, char why[S3_WHY_SIZE])
{
    struct http_reply CH_CLEANUP(close_s3_reply) reply = { 0 };
    char range[64];
    (void)snprintf(range, sizeof(range), "bytes=%llu-%llu", (unsigned long long)offset,
                   (unsigned long long)(offset + size - 1));
    const struct s3_call call = { .name = name,
                                  .sum = no_bytes,
                                  .range = range,
                                  .reply_max = size > S3_WHY_SIZE ? size : 4096,
                                  .limit_ms = PART_MS + size / GET_BYTES_A_MS };
    enum ch_status status = send_s3(s3, &call, &reply, why);
    if (status == CH_OK && (reply.status != 206 || reply.body.size != size)) {
        (void)snprintf(why, S3_WHY_SIZE,
                       "the object store sent %zu bytes for %zu of '%.80s'",
                       reply.body.size, size, name);
        status = CH_ERR_IO;
    }
    if (status == CH_OK)
        text_append(out, reply.body.bytes, reply.body.size);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

enum ch_status s3_remove(const struct s3 *s3, const char *name, char why[S3_WHY_SIZE])
{
    struct http_reply CH_CLEANUP(close_s3_reply) reply = { 0 };
    const struct s3_call call = {
        .method = "DELETE", .name = name, .sum = no_bytes, .limit_ms = STALL_MS
    };
    enum ch_status status = send_s3(s3, &call, &reply, why);
    return status == CH_ERR_NOT_FOUND ? CH_OK : status;
}

// copy_element copies the text of the first element of that name before end.
static bool copy_element(const char *from, const char *end, const char *name, char *out,
                         size_t size)
{
    char open[32];
    (void)snprintf(open, sizeof(open), "<%s>", name);
    const char *at = strstr(from, open);
    if (at == NULL || at >= end)
        return false;
    at += strlen(open);
    size_t length = strcspn(at, "<");
    if (length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = 0;
    return true;
}

void s3_list_page(const struct s3 *s3, const char *page, s3_object_fn *visit,
                  void *context, char next[S3_NAME_SIZE])
{
    static const char begin[] = "<Contents>";
    char name[S3_NAME_SIZE];
    char size[32];
    char changed[64];
    char cut[8] = "";
    size_t prefix = strlen(s3->prefix);
    next[0] = 0;
    for (const char *at = strstr(page, begin); at != NULL; at = strstr(at, begin)) {
        const char *end = strstr(at, "</Contents>");
        at += strlen(begin);
        if (end == NULL || !copy_element(at, end, "Key", name, sizeof(name)) ||
            !copy_element(at, end, "Size", size, sizeof(size)) ||
            !copy_element(at, end, "LastModified", changed, sizeof(changed)))
            continue;
        (void)snprintf(next, S3_NAME_SIZE, "%s", name);
        if (strncmp(name, s3->prefix, prefix) != 0)
            continue;
        const struct s3_object object = { name + prefix, strtoull(size, NULL, 10),
                                          changed };
        visit(context, &object);
    }
    if (!copy_element(page, page + strlen(page), "IsTruncated", cut, sizeof(cut)) ||
        strcmp(cut, "true") != 0)
        next[0] = 0;
}

enum ch_status s3_list(const struct s3 *s3, const char *begin, s3_object_fn *visit,
                       void *context, char why[S3_WHY_SIZE])
{
    char next[S3_NAME_SIZE] = "";
    enum ch_status status = CH_OK;
    for (int i = 0; status == CH_OK && (i == 0 || next[0] != 0) && i < PAGES_MAX; i++) {
        struct http_reply CH_CLEANUP(close_s3_reply) reply = { 0 };
        char full[2 * S3_NAME_SIZE];
        char query[8 * S3_NAME_SIZE];
        (void)snprintf(full, sizeof(full), "%s%s", s3->prefix, begin);
        s3_address_query(full, next, query, sizeof(query));
        const struct s3_call call = { .query = query,
                                      .sum = no_bytes,
                                      .reply_max = LIST_BYTES,
                                      .least_rate = LIST_RATE };
        status = send_s3(s3, &call, &reply, why);
        next[0] = 0;
        if (status == CH_OK && reply.body.bytes != NULL)
            s3_list_page(s3, reply.body.bytes, visit, context, next);
    }
    return status;
}
