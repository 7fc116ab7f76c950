// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/sessions.h"

#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"

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
