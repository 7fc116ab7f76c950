// SPDX-License-Identifier: Apache-2.0
//
// Reading JSON into a tree: the same tree as jansson makes, in less than half its time,
// which is most of what a collector does with a report that arrives.
//
// What reports seldom have (real numbers, escapes, numbers of 19 digits) is read by
// jansson one by one, and a document that this reader does not understand is read by
// jansson as a whole, which accepts it after all or says what is wrong. Documents come
// from anybody: nothing here recurses, and what is deeper than JSON_READER_DEPTH is
// left to jansson, which has a limit.
#pragma once
#include <jansson.h>
#include <stddef.h>

enum { JSON_READER_DEPTH = 64 };

// json_reader_read reads an object or array that is all of the size bytes at bytes;
// keys that occur twice in an object are refused. NULL: why is set.
json_t *json_reader_read(const char *bytes, size_t size, json_error_t *why);

// json_string_end is the index after the string whose opening quote is at start, at
// most size, in a text that need not be JSON.
size_t json_string_end(const char *bytes, size_t size, size_t start);
