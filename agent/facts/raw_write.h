// SPDX-License-Identifier: Apache-2.0
//
// Writers for members of the raw report's objects: unknown values are left out, and
// values that may name homes or contain secrets are masked.
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"

// raw_write_string writes a member, unless value is NULL or empty.
void raw_write_string(struct json_writer *w, const char *key, const char *value);

// raw_write_count and raw_write_address write a number, the latter as "0x1f".
void raw_write_count(struct json_writer *w, const char *key, uint64_t value);
void raw_write_address(struct json_writer *w, const char *key, uint64_t value);

// raw_write_time writes milliseconds since 1970 as a date and time.
void raw_write_time(struct json_writer *w, const char *key, uint64_t unix_ms);

// raw_write_path writes a path of size bytes with the home directory masked.
void raw_write_path(struct json_writer *w, const struct capture *capture,
                    const char *key, const char *path, size_t size);

// raw_write_words writes a text with the program's own words, masking homes and
// secrets; NULL or empty: nothing.
void raw_write_words(struct json_writer *w, const struct capture *capture,
                     const char *key, const char *words);

// raw_write_words_value writes such a text as a value whose key has been written.
void raw_write_words_value(struct json_writer *w, const struct capture *capture,
                           const char *words);

// raw_write_named_value does so for a text that the program has named; some names mark
// their values as secrets.
void raw_write_named_value(struct json_writer *w, const struct capture *capture,
                           const char *name, size_t length, const char *words);
