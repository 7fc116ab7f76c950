// SPDX-License-Identifier: Apache-2.0
#include "net/message.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "net/http.h"
#include "net/libcurl.h"
#include "report/file/digest.h"

enum { CONNECT_MS = 5000, HEADERS_SIZE = 256 };

static void close_reply(struct http_reply *reply)
{
    http_reply_deinit(reply);
}

enum ch_status message_post(const struct message_hook *hook, const char *body,
                            size_t size, struct message_fate *out)
{
    char headers[HEADERS_SIZE];
    char code[SHA256_HEX_SIZE] = "";
    struct http_reply CH_CLEANUP(close_reply) reply = { 0 };
    if (hook->secret != NULL) {
        uint8_t sum[SHA256_SIZE];
        sha256_hmac(hook->secret, body, size, sum);
        hex_encode(sum, sizeof(sum), code);
    }
    (void)snprintf(headers, sizeof(headers), "X-Crashhook-Alert: %s%s%s", hook->id,
                   code[0] != 0 ? "\nX-Crashhook-Signature: sha256=" : "", code);
    const struct http_request request = { .url = hook->url,
                                          .content_type = "application/json",
                                          .headers = headers,
                                          .body = body,
                                          .size = size,
                                          .timeout_ms = MESSAGE_TIMEOUT_MS };
    enum ch_status status = http_send(&request, &reply);
    *out = (struct message_fate){ .wait_s = reply.retry_after_s };
    if (status != CH_OK)
        (void)snprintf(out->why, sizeof(out->why), "%.*s", MESSAGE_WHY_SIZE - 1,
                       reply.error);
    else if (reply.status < 200 || reply.status > 299)
        (void)snprintf(out->why, sizeof(out->why), "it answered with %d", reply.status);
    else
        return CH_OK;
    return CH_ERR_IO;
}

// unread is what is left of a message to hand in.
struct unread {
    const char *bytes;
    size_t size;
};

static size_t read_message(char *to, size_t size, size_t count, void *context)
{
    struct unread *unread = context;
    size_t part = size * count < unread->size ? size * count : unread->size;
    memcpy(to, unread->bytes, part);
    unread->bytes += part;
    unread->size -= part;
    return part;
}

static void set_mail_options(const struct libcurl *curl, CURL *client,
                             const struct message_server *server)
{
    curl->easy_setopt(client, CURLOPT_URL, server->url);
    curl->easy_setopt(client, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl->easy_setopt(client, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(client, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl->easy_setopt(client, CURLOPT_TIMEOUT_MS, (long)MESSAGE_TIMEOUT_MS);
    curl->easy_setopt(client, CURLOPT_MAIL_FROM, server->from);
    curl->easy_setopt(client, CURLOPT_UPLOAD, 1L);
    if (server->user == NULL)
        return;
    // A password is never sent in clear.
    curl->easy_setopt(client, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL);
    curl->easy_setopt(client, CURLOPT_USERNAME, server->user);
    curl->easy_setopt(client, CURLOPT_PASSWORD, server->password);
}

enum ch_status message_mail(const struct message_server *server, const char *to,
                            const char *message, size_t size, struct message_fate *out)
{
    char error[CURL_ERROR_SIZE] = "out of memory";
    const struct libcurl *curl = NULL;
    struct unread unread = { message, size };
    *out = (struct message_fate){ .wait_s = -1 };
    if (libcurl_load(&curl, error, sizeof(error)) != CH_OK ||
        curl->global_init(CURL_GLOBAL_DEFAULT) != 0) {
        (void)snprintf(out->why, sizeof(out->why), "%.*s", MESSAGE_WHY_SIZE - 1, error);
        return CH_ERR_IO;
    }
    // The connection is not reused: servers close those that are silent for hours.
    CURL *client = curl->easy_init();
    struct curl_slist *addresses = curl->slist_append(NULL, to);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (client != NULL && addresses != NULL) {
        error[0] = 0;
        set_mail_options(curl, client, server);
        curl->easy_setopt(client, CURLOPT_MAIL_RCPT, addresses);
        curl->easy_setopt(client, CURLOPT_READFUNCTION, read_message);
        curl->easy_setopt(client, CURLOPT_READDATA, &unread);
        curl->easy_setopt(client, CURLOPT_ERRORBUFFER, error);
        code = curl->easy_perform(client);
    }
    if (code != CURLE_OK)
        (void)snprintf(out->why, sizeof(out->why), "%.*s", MESSAGE_WHY_SIZE - 1,
                       error[0] != 0 ? error : curl->easy_strerror(code));
    curl->slist_free_all(addresses);
    if (client != NULL)
        curl->easy_cleanup(client);
    return code == CURLE_OK ? CH_OK : CH_ERR_IO;
}
