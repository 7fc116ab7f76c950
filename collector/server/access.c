// SPDX-License-Identifier: Apache-2.0
#include "collector/server/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"

enum { TOKEN_FILE_BYTES = ACCESS_TOKENS * ACCESS_TOKEN_SIZE };

static const char blanks[] = " \t\r\n";

static enum ch_status add_access_token(struct access_tokens *tokens, size_t *count,
                                       char *line)
{
    line += strspn(line, blanks);
    size_t length = strlen(line);
    while (length > 0 && strchr(blanks, line[length - 1]) != NULL)
        line[--length] = 0;
    if (length == 0 || line[0] == '#')
        return CH_OK;
    if (*count == ACCESS_TOKENS || length >= ACCESS_TOKEN_SIZE)
        return CH_ERR_LIMIT;
    tokens->lines[(*count)++] = line;
    return CH_OK;
}

static enum ch_status split_tokens(struct access_tokens *tokens)
{
    size_t count = 0;
    char *rest = NULL;
    char *line = strtok_r(tokens->bytes, "\n", &rest);
    while (line != NULL) {
        enum ch_status status = add_access_token(tokens, &count, line);
        if (status != CH_OK)
            return status;
        line = strtok_r(NULL, "\n", &rest);
    }
    return count != 0 ? CH_OK : CH_ERR_NOT_FOUND;
}

enum ch_status access_read_tokens(const char *path, struct access_tokens *out)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return CH_ERR_IO;
    struct access_tokens tokens = { .bytes = calloc(1, TOKEN_FILE_BYTES + 2) };
    enum ch_status status = tokens.bytes != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK) {
        size_t size = fread(tokens.bytes, 1, TOKEN_FILE_BYTES + 1, file);
        if (ferror(file))
            status = CH_ERR_IO;
        else if (size > TOKEN_FILE_BYTES)
            status = CH_ERR_LIMIT;
    }
    int reason = errno;
    fclose(file);
    if (status == CH_OK)
        status = split_tokens(&tokens);
    if (status != CH_OK) {
        access_tokens_deinit(&tokens);
        errno = reason;
        return status;
    }
    *out = tokens;
    return CH_OK;
}

void access_tokens_deinit(struct access_tokens *tokens)
{
    free(tokens->bytes);
    tokens->bytes = NULL;
}

// equal_in_constant_time compares every byte that was sent, whichever differ: the time
// it takes depends only on the length of what was sent, so it tells nothing about the
// token.
static bool equal_in_constant_time(const char *token, const char *sent,
                                   size_t sent_length)
{
    size_t length = strlen(token);
    unsigned char differences = length != sent_length;
    for (size_t i = 0; i < sent_length; i++)
        differences |= (unsigned char)(sent[i] ^ token[i < length ? i : length - 1]);
    return differences == 0;
}

static bool is_token(const char *const *tokens, const char *sent, size_t length,
                     size_t *out_token)
{
    bool found = false;
    // Every token is compared, even after a match: the time must not tell which one it
    // was.
    for (size_t i = 0; tokens[i] != NULL; i++) {
        bool same = equal_in_constant_time(tokens[i], sent, length);
        found |= same;
        *out_token = same ? i : *out_token;
    }
    return found;
}

bool access_is_token(const char *const *tokens, const char *sent, size_t *out_token)
{
    return is_token(tokens, sent, strlen(sent), out_token);
}

void access_write_cookie(const char *token, char out[2 * ACCESS_TOKEN_SIZE + 1])
{
    hex_encode(token, strnlen(token, ACCESS_TOKEN_SIZE), out);
}

bool access_cookie_ok(const char *const *tokens, const char *cookie, size_t *out_token)
{
    char token[ACCESS_TOKEN_SIZE];
    size_t size = 0;
    if (cookie == NULL ||
        hex_decode(cookie, strlen(cookie), token, sizeof(token), &size) != CH_OK)
        return false;
    return is_token(tokens, token, size, out_token);
}

bool access_same_origin(const char *fetch_site, const char *origin, const char *host)
{
    if (fetch_site != NULL)
        return strcmp(fetch_site, "same-origin") == 0;
    // A browser that does not send Sec-Fetch-Site names its page in Origin.
    const char *name = origin != NULL ? strstr(origin, "://") : NULL;
    return name != NULL && host != NULL && strcasecmp(name + 3, host) == 0;
}

// is_basic looks for a token after the colon of base64 `user:password`.
static bool is_basic(const char *const *tokens, const char *encoded, size_t *out_token)
{
    char decoded[ACCESS_TOKEN_SIZE + 256];
    size_t size = 0;
    if (base64_decode(encoded, strlen(encoded), decoded, sizeof(decoded), &size) !=
        CH_OK)
        return false;
    const char *colon = memchr(decoded, ':', size);
    if (colon == NULL)
        return false;
    return is_token(tokens, colon + 1, (size_t)(decoded + size - colon - 1), out_token);
}

bool access_authorized(const char *const *tokens, const char *authorization, bool basic,
                       size_t *out_token)
{
    if (tokens[0] == NULL)
        return true;
    if (authorization == NULL)
        return false;
    const char *space = strchr(authorization, ' ');
    if (space == NULL)
        return false;
    size_t scheme = (size_t)(space - authorization);
    const char *sent = space + strspn(space, " ");
    if (scheme == 6 && strncasecmp(authorization, "Bearer", scheme) == 0)
        return is_token(tokens, sent, strlen(sent), out_token);
    if (basic && scheme == 5 && strncasecmp(authorization, "Basic", scheme) == 0)
        return is_basic(tokens, sent, out_token);
    return false;
}

bool access_host_ok(const char *host)
{
    char name[64];
    struct in6_addr address;
    if (host == NULL)
        return true; // every browser sends one
    bool bracketed = host[0] == '[';
    const char *start = host + bracketed;
    size_t length = strcspn(start, bracketed ? "]" : ":");
    if (length == 0 || length >= sizeof(name) || (bracketed && start[length] == 0))
        return false;
    memcpy(name, start, length);
    name[length] = 0;
    return inet_pton(bracketed ? AF_INET6 : AF_INET, name, &address) == 1 ||
           strcasecmp(name, "localhost") == 0;
}
