// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/user_name.h"

#include <string.h>

#include "report/file/digest.h"
#include "report/json/json_reader.h"

void user_name_hide(const char *salt, const char *project, const char *user,
                    char out[static USER_NAME_SIZE])
{
    struct sha256_ctx sha;
    char sum[SHA256_HEX_SIZE];
    sha256_init(&sha);
    // Each with its NUL: no two pairs of a project and a user have the same bytes.
    sha256_update(&sha, strlen(salt) + 1, (const uint8_t *)salt);
    sha256_update(&sha, strlen(project) + 1, (const uint8_t *)project);
    sha256_update(&sha, strlen(user) + 1, (const uint8_t *)user);
    sha256_finish_hex(&sha, sum);
    out[0] = '#';
    memcpy(out + 1, sum, USER_NAME_SIZE - 2);
    out[USER_NAME_SIZE - 1] = 0;
}

bool user_name_is_hidden(const char *user)
{
    return user[0] == '#' && strlen(user) == USER_NAME_SIZE - 1 &&
           strspn(user + 1, "0123456789abcdef") == USER_NAME_SIZE - 2;
}

static size_t skip_blanks(const char *json, size_t size, size_t at)
{
    while (at < size && (json[at] == ' ' || json[at] == '\t' || json[at] == '\r' ||
                         json[at] == '\n'))
        at++;
    return at;
}

// find_member is where the value of a member of the object at start begins; the size of
// the JSON: the object has no such member.
static size_t find_member(const char *json, size_t size, size_t start, const char *key)
{
    size_t length = strlen(key);
    size_t depth = 0;
    for (size_t at = start; at < size;) {
        char c = json[at];
        if (c != '"') {
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            if (depth == 0)
                break;
            at++;
            continue;
        }
        size_t end = json_string_end(json, size, at);
        size_t colon = skip_blanks(json, size, end);
        if (depth == 1 && end - at == length + 2 &&
            memcmp(json + at + 1, key, length) == 0 && colon < size &&
            json[colon] == ':')
            return skip_blanks(json, size, colon + 1);
        at = end;
    }
    return size;
}

enum ch_status user_name_hide_in(const char *salt, const char *project, json_t *report,
                                 const char *json, size_t size, struct text *out)
{
    json_t *tags = json_object_get(report, "tags");
    const json_t *value = json_object_get(tags, USER_NAME_TAG);
    const char *user = json_string_value(value);
    char hidden[USER_NAME_SIZE];
    if (value == NULL || json_is_null(value))
        return CH_OK;
    if (user == NULL)
        return CH_ERR_MALFORMED;
    if (user[0] == 0 || user_name_is_hidden(user))
        return CH_OK;
    size_t at = find_member(json, size, skip_blanks(json, size, 0), "tags");
    if (at < size)
        at = find_member(json, size, at, USER_NAME_TAG);
    if (at >= size || json[at] != '"')
        return CH_ERR_MALFORMED;
    user_name_hide(salt, project, user, hidden);
    if (json_object_set_new(tags, USER_NAME_TAG, json_string(hidden)) != 0)
        return CH_ERR_NO_MEMORY;
    size_t end = json_string_end(json, size, at);
    text_append(out, json, at);
    text_appendf(out, "\"%s\"", hidden);
    text_append(out, json + end, size - end);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
