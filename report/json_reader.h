// SPDX-License-Identifier: Apache-2.0
//
// Reading a report that has most of its frames many times: a thousand threads that wait
// in one place are a thousand equal stacks.
//
// In arrays that are members called "frames", objects of equal bytes become one value
// of the tree, several times in it. Who changes one takes a copy first
// (report_frame_own). What is read is what jansson reads, or less: strings with escapes
// are handed to it one by one, and what this reader refuses may still be JSON.
// Documents come from anybody; no more than JSON_READER_DEPTH_MAX values are in each
// other.
#pragma once
#include <jansson.h>
#include <stddef.h>

enum { JSON_READER_DEPTH_MAX = 64 };

// json_reader_read reads the size bytes at bytes to a new tree. NULL: it is not for
// this reader; ask jansson, which knows why or does better.
json_t *json_reader_read(const char *bytes, size_t size);
