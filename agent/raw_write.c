// SPDX-License-Identifier: Apache-2.0
#include "agent/raw_write.h"

#include "report/sanitize.h"

void raw_write_string(struct json_writer *w, const char *key, const char *value)
{
    if (value == NULL || *value == 0)
        return;
    json_write_key(w, key);
    json_write_string(w, value);
}

void raw_write_count(struct json_writer *w, const char *key, uint64_t value)
{
    json_write_key(w, key);
    json_write_uint(w, value);
}

void raw_write_address(struct json_writer *w, const char *key, uint64_t value)
{
    json_write_key(w, key);
    json_write_hex(w, value);
}

void raw_write_path(struct json_writer *w, const struct capture *capture,
                    const char *key, const char *path, size_t size)
{
    struct text copy = { 0 };
    struct text masked = { 0 };
    text_append(&copy, path, size);
    sanitize_path(copy.bytes != NULL ? copy.bytes : "", capture->home, &masked);
    if (text_ok(&masked) && masked.size != 0)
        raw_write_string(w, key, masked.bytes);
    text_deinit(&masked);
    text_deinit(&copy);
}

void raw_write_words(struct json_writer *w, const struct capture *capture,
                     const char *key, const char *words)
{
    struct text masked = { 0 };
    if (words == NULL || capture->settings->sanitize == SETTING_NO) {
        raw_write_string(w, key, words);
        return;
    }
    sanitize_string(words, capture->home, &masked);
    if (text_ok(&masked))
        raw_write_string(w, key, masked.bytes);
    text_deinit(&masked);
}
