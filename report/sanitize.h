// SPDX-License-Identifier: Apache-2.0
//
// What is masked in strings before anything is written: home directories become `~`,
// secrets become `***`.
//
// Pure functions from one string to a growing text. A string is read once, from left to
// right, as words and the marks between them, without knowing whether it is JSON, YAML,
// a URL, a header, a DSN or a sentence: a name (report/secret_name.h) and a separator
// introduce a value, and words may look like a secret by themselves
// (report/secret_value.h). They mask a harmless word too many rather than a secret too
// few, and promise nothing about a secret that looks like nothing. Users: the raw
// report's writer, the symbolizer, upload (URLs in state and messages).
//
// A path keeps its form after `~`, so whoever opens it puts $HOME back in front.
#pragma once
#include <stddef.h>

#include "base/text.h"

// sanitize_path appends path, its prefix home replaced by `~`. home may be NULL. Homes
// of other users stay: the path has to open the same file for us again.
void sanitize_path(const char *path, const char *home, struct text *out);

// sanitize_string appends a free string: homes of anybody wherever a path begins,
// values after the names of secrets, logins, and words that look like keys.
void sanitize_string(const char *string, const char *home, struct text *out);

// sanitize_named appends the value of a thing that has a name, as a tag has: all of it
// is masked under the name of a secret, else it is a free string.
void sanitize_named(const char *name, size_t length, const char *value,
                    const char *home, struct text *out);
