// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process that was killed over its last minute (process.memory), in a
// line: from and to, its peak and a curve of bars. Users: terminal, pages, log records.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

// memory_words_append appends such a line; false: the report has no samples.
bool memory_words_append(const json_t *report, struct text *out);
