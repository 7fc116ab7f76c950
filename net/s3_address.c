// SPDX-License-Identifier: Apache-2.0
#include "net/s3_address.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void s3_address_query(const char *prefix, const char *after, char *out, size_t size)
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
