// SPDX-License-Identifier: Apache-2.0
//
// Answers as gzip, for clients that take it: a list has a seventh of its bytes then.
//
// Pages hold no secret beside what a stranger chose for them (no token, no form key),
// so their compressed size tells nothing. Limit: answers under COMPRESS_LEAST bytes
// stay as they are.
#pragma once
#include <stdbool.h>

#include "base/text.h"

enum { COMPRESS_LEAST = 1024 };

// compress_wanted returns true if an Accept-Encoding header, which may be NULL, takes
// gzip.
bool compress_wanted(const char *accepted);

// compress_answer replaces body by its gzip form, unless it is short or would not get
// smaller: then it returns false, and body is what it was.
bool compress_answer(struct text *body);
