// SPDX-License-Identifier: Apache-2.0
//
// What is masked in strings before anything is written: home directories become `~`,
// secrets in arguments become `***`.
//
// Pure functions from one string to a growing text. They look for what secrets look
// like (`--password=x`, `--token x`, `api_key=x`, user:password@ in URLs, keys of known
// services, long random words), so they mask a harmless word too many rather than one
// too few, and promise nothing about a secret that looks like nothing. Users: the raw
// report's writer, the symbolizer (source files), upload (URLs in state and messages).
//
// A path keeps its form after `~`, so whoever opens it puts $HOME back in front.
#pragma once
#include <stdbool.h>

#include "base/text.h"

// sanitize_path appends path, its prefix home replaced by `~`. home may be NULL. Homes
// of other users stay: the path has to open the same file for us again.
void sanitize_path(const char *path, const char *home, struct text *out);

// sanitize_string appends a free string: homes of anybody wherever a path begins,
// user:password in URLs, name=value pairs with a secret name, and words that look like
// keys.
void sanitize_string(const char *string, const char *home, struct text *out);

// sanitize_is_secret_name is whether a value under this name, as in `password=x`, is
// one to be masked.
bool sanitize_is_secret_name(const char *name, size_t length);

// A command line being masked: an option may make the next argument a secret.
struct sanitize_arguments {
    const char *home; // may be NULL
    bool next_is_secret;
    bool next_is_login; // user:password
};

// sanitize_argument appends the next argument of a command line, the program's own name
// first; *line starts with its home set and all else zero.
void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out);
