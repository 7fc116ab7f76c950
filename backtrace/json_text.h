// SPDX-License-Identifier: Apache-2.0
//
// Backtraces as JSON values, for the functions that read and write JSON text: a
// symbolicated backtrace's object has the members of a plain one too. Input is
// untrusted.
#pragma once
#include <jansson.h>

#include "backtrace/stored.h"

// JSON_TEXT_LIMIT is the largest size of JSON text that is read.
enum { JSON_TEXT_LIMIT = 64 << 20 };

// json_text_from_backtrace gives backtrace as an object, with images unless that is
// NULL.
CH_CHECKED enum ch_status
json_text_from_backtrace(const struct crashhook_backtrace *backtrace,
                         const struct crashhook_images *images, json_t **out);

// json_text_to_backtrace reads the members of object.
CH_CHECKED enum ch_status json_text_to_backtrace(const json_t *object,
                                                 struct crashhook_backtrace **out);

// json_text_load parses length bytes that contain an object.
CH_CHECKED enum ch_status json_text_load(const char *json, size_t length, json_t **out);
