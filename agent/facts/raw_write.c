// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/raw_write.h"

#include "base/clock.h"
#include "report/secrets/sanitize.h"

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

void raw_write_time(struct json_writer *w, const char *key, uint64_t unix_ms)
{
    char text[CLOCK_UTC_SIZE];
    // A 64-bit clock in nanoseconds ends in the year 2554.
    if (unix_ms / 1000 > UINT64_MAX / 1000000000)
        return;
    // gmtime_r would read the time zone's file, which must not be opened while the
    // process is held.
    clock_utc_write(unix_ms, text);
    raw_write_string(w, key, text);
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

void raw_write_words_value(struct json_writer *w, const struct capture *capture,
                           const char *words)
{
    raw_write_named_value(w, capture, "", 0, words);
}

void raw_write_named_value(struct json_writer *w, const struct capture *capture,
                           const char *name, size_t length, const char *words)
{
    struct text masked = { 0 };
    if (capture->settings->sanitize == SETTING_NO)
        text_append_string(&masked, words);
    else
        sanitize_named(name, length, words, capture->home, &masked);
    json_write_string(w, text_ok(&masked) && masked.size != 0 ? masked.bytes : "");
    text_deinit(&masked);
}
