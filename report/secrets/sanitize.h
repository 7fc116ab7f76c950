// SPDX-License-Identifier: Apache-2.0
//
// What is masked in strings before anything is written: home directories become `~`,
// secrets become `***`.
//
// Pure functions from one string to a growing text. A string is read once, from left to
// right, as words and the marks between them, without knowing whether it is JSON, YAML,
// a URL, a header, a DSN or a sentence: a name and a separator introduce a value, and
// words may look like a secret by themselves (report/secrets/secret.h). They rather
// mask a harmless word than miss a secret, and cannot find a secret that looks like an
// ordinary word. Users: the raw report's writer, the symbolizer, upload (URLs in state
// and messages).
//
// A path keeps its form after `~`, so replacing that by $HOME makes it valid again.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "report/secrets/secret.h"

// sanitize_hide_people has all of these mask what identifies people, too (people.h). It
// is called once, before the first of them: CRASHHOOK_PII=no.
void sanitize_hide_people(bool hide);

// sanitize_path appends path with its prefix home replaced by `~`. home may be NULL.
// Homes of other users are kept: the path must open the same file for us later.
void sanitize_path(const char *path, const char *home, struct text *out);

// sanitize_string appends any string: homes of all users are masked wherever a path
// begins, and so are values after the names of secrets, logins, and words that look
// like keys.
void sanitize_string(const char *string, const char *home, struct text *out);

// sanitize_named appends the value of something that has a name, such as a tag: under
// the name of a secret all of it is masked, otherwise it is treated as any string.
void sanitize_named(const char *name, size_t length, const char *value,
                    const char *home, struct text *out);

// sanitize_arguments is a command line being masked; it starts with home set and
// everything else zero. Its arguments must stay valid until the last one was passed.
struct sanitize_arguments {
    const char *home;          // may be NULL
    const char *program;       // the first argument
    struct secret_option next; // what the next argument is
};

// sanitize_argument appends the next argument; the first is the program's own name.
void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out);
