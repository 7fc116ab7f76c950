// SPDX-License-Identifier: Apache-2.0
//
// Backtraces as JSON values, for the functions that read and write JSON text: members
// of a backtrace stand in the object of a symbolicated one too. What is read is a
// stranger's.
#pragma once
#include <jansson.h>

#include "backtrace/stored.h"

// JSON_TEXT_LIMIT is how many bytes of JSON are read at all.
enum { JSON_TEXT_LIMIT = 64 << 20 };

// json_text_from_backtrace gives backtrace as an object, with images if not NULL.
CH_CHECKED enum ch_status
json_text_from_backtrace(const struct crashhook_backtrace *backtrace,
                         const struct crashhook_images *images, json_t **out);

// json_text_to_backtrace reads the members of object.
CH_CHECKED enum ch_status json_text_to_backtrace(const json_t *object,
                                                 struct crashhook_backtrace **out);

// json_text_load reads length bytes that hold an object.
CH_CHECKED enum ch_status json_text_load(const char *json, size_t length, json_t **out);
