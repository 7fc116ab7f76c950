// SPDX-License-Identifier: Apache-2.0
#include "upload/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "upload/libcurl.h"

enum {
    REPLY_MAX_BYTES = 64 << 10,
    HEADERS_MAX_BYTES = 64 << 10,
    CONNECT_TIMEOUT_MS = 10000,
    RETRY_AFTER_MAX_S = 24 * 3600,
};

// The one client of this process: reports go out one after the other.
static const struct libcurl *curl;
static CURL *client;

// What the callbacks of one transfer share.
struct transfer {
    struct http_reply *reply;
    size_t header_bytes;
    const char *refused; // why we ended it
};

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    if (size * count > REPLY_MAX_BYTES - transfer->reply->body.size) {
        transfer->refused = "its answer is too long";
        return 0;
    }
    text_append(&transfer->reply->body, bytes, size * count);
    return text_ok(&transfer->reply->body) ? size * count : 0;
}

// parse_retry_after reads seconds or a date.
static int64_t parse_retry_after(const char *value, size_t length)
{
    char copy[64];
    int64_t seconds = -1;
    if (length >= sizeof(copy))
        return -1;
    memcpy(copy, value, length);
    copy[length] = 0;
    if (copy[0] >= '0' && copy[0] <= '9' && strspn(copy, "0123456789") == length) {
        seconds = 0;
        for (const char *at = copy; *at != 0 && seconds < RETRY_AFTER_MAX_S; at++)
            seconds = seconds * 10 + (*at - '0');
    } else {
        time_t date = curl->getdate(copy, NULL);
        if (date != -1)
            seconds = date - time(NULL);
    }
    if (seconds < 0)
        return -1;
    return seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    static const char name[] = "retry-after:";
    struct transfer *transfer = context;
    size_t length = size * count;
    size_t prefix = sizeof(name) - 1;

    transfer->header_bytes += length;
    if (transfer->header_bytes > HEADERS_MAX_BYTES) {
        transfer->refused = "its headers are too long";
        return 0;
    }
    if (length > prefix && strncasecmp(bytes, name, prefix) == 0) {
        while (length > prefix && (unsigned char)bytes[length - 1] <= ' ')
            length--;
        while (prefix < length && bytes[prefix] == ' ')
            prefix++;
        transfer->reply->retry_after_s =
            parse_retry_after(bytes + prefix, length - prefix);
    }
    return size * count;
}

// client_create loads libcurl the first time; why says what failed.
static enum ch_status client_create(char *why, size_t size)
{
    if (client != NULL)
        return CH_OK;
    enum ch_status status = libcurl_load(&curl, why, size);
    if (status != CH_OK)
        return status;
    if (curl->global_init(CURL_GLOBAL_DEFAULT) == 0)
        client = curl->easy_init();
    if (client != NULL)
        return CH_OK;
    (void)snprintf(why, size, "out of memory");
    return CH_ERR_NO_MEMORY;
}

static void free_headers(struct curl_slist *const *headers)
{
    curl->slist_free_all(*headers);
}

// add_header appends one header; NULL: out of memory.
static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
                                     const char *value)
{
    char line[10240];
    if ((size_t)snprintf(line, sizeof(line), "%s%s", name, value) >= sizeof(line))
        return headers;
    struct curl_slist *longer = curl->slist_append(headers, line);
    return longer != NULL ? longer : headers;
}

static struct curl_slist *request_headers(const struct http_request *request)
{
    struct curl_slist *headers = add_header(NULL, "Content-Type: ", "application/json");
    headers = add_header(headers, "Expect:", "");
    headers = add_header(headers, "User-Agent: crashhook/", CRASHHOOK_VERSION);
    if (request->encoding != NULL)
        headers = add_header(headers, "Content-Encoding: ", request->encoding);
    if (request->token != NULL && request->token[0] != 0)
        headers = add_header(headers, "Authorization: Bearer ", request->token);
    return headers;
}

// set_authorities trusts whom the curl command would: a bundle named in the
// environment, else the system's.
static void set_authorities(void)
{
    static const char *const variables[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE" };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *bundle = getenv(variables[i]);
        if (bundle != NULL && *bundle != 0) {
            curl->easy_setopt(client, CURLOPT_CAINFO, bundle);
            return;
        }
    }
}

static void set_options(const struct http_request *request,
                        const struct curl_slist *headers, struct transfer *transfer)
{
    long timeout =
        request->timeout_ms < 86400000 ? (long)request->timeout_ms : 86400000;
    curl->easy_reset(client);
    curl->easy_setopt(client, CURLOPT_URL, request->url);
    curl->easy_setopt(client, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(client, CURLOPT_FOLLOWLOCATION, 0L);
    curl->easy_setopt(client, CURLOPT_NOSIGNAL, 1L);
    set_authorities();
    curl->easy_setopt(client, CURLOPT_HTTPHEADER, headers);
    if (request->body != NULL) {
        curl->easy_setopt(client, CURLOPT_POST, 1L);
        curl->easy_setopt(client, CURLOPT_POSTFIELDS, request->body);
        curl->easy_setopt(client, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)request->size);
    }
    curl->easy_setopt(client, CURLOPT_TIMEOUT_MS, timeout);
    curl->easy_setopt(client, CURLOPT_CONNECTTIMEOUT_MS,
                      timeout < CONNECT_TIMEOUT_MS ? timeout
                                                   : (long)CONNECT_TIMEOUT_MS);
    curl->easy_setopt(client, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(client, CURLOPT_WRITEDATA, transfer);
    curl->easy_setopt(client, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(client, CURLOPT_HEADERDATA, transfer);
    curl->easy_setopt(client, CURLOPT_ERRORBUFFER, transfer->reply->error);
}

// drop_duration takes " after 12 ms" out of libcurl's words: the same trouble is to
// read the same each time, so that it is said once.
static void drop_duration(char *error)
{
    static const char before[] = " after ";
    char *at = strstr(error, before);
    if (at == NULL)
        return;
    const char *end = at + strlen(before);
    end += strspn(end, "0123456789");
    if (strncmp(end, " ms", 3) == 0)
        memmove(at, end + 3, strlen(end + 3) + 1);
}

enum ch_status http_send(const struct http_request *request, struct http_reply *out)
{
    *out = (struct http_reply){ .retry_after_s = -1 };
    struct transfer transfer = { .reply = out };
    long status = 0;
    if (request->timeout_ms == 0) { // libcurl would take it for no limit
        (void)snprintf(out->error, sizeof(out->error), "no time is left for it");
        return CH_ERR_IO;
    }
    if (client_create(out->error, sizeof(out->error)) != CH_OK)
        return CH_ERR_IO;
    struct curl_slist *CH_CLEANUP(free_headers) headers = request_headers(request);
    set_options(request, headers, &transfer);
    CURLcode code = curl->easy_perform(client);
    (void)curl->easy_getinfo(client, CURLINFO_RESPONSE_CODE, &status);
    // The error buffer must not be written to once this reply is gone.
    curl->easy_setopt(client, CURLOPT_ERRORBUFFER, NULL);
    if (code != CURLE_OK) {
        if (transfer.refused != NULL)
            (void)snprintf(out->error, sizeof(out->error), "%s", transfer.refused);
        else if (out->error[0] == 0)
            (void)snprintf(out->error, sizeof(out->error), "%s",
                           curl->easy_strerror(code));
        drop_duration(out->error);
        return CH_ERR_IO;
    }
    out->status = (int)status;
    return CH_OK;
}

void http_reply_deinit(struct http_reply *reply)
{
    text_deinit(&reply->body);
}

void http_close(void)
{
    if (client != NULL)
        curl->easy_cleanup(client);
    client = NULL;
}
