// SPDX-License-Identifier: Apache-2.0
#include "collector/server/http_head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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
