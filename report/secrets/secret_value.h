// SPDX-License-Identifier: Apache-2.0
//
// What a value looks like: whether to mask it under a name that is more or less
// certain, and whether it is a secret by its own look, whatever its name.
//
// Keys of known services are recognized by their prefixes (`AKIA`, `ghp_`, `xoxe-`, a
// JSON web token, a PEM header), others by looking random: a long word that changes
// between cases and digits far more often than names and paths do. Digests in hex and
// mangled names stay readable. Everything only looks ahead, and examines no byte more
// than a few times. Users: report/secrets/sanitize.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "report/secrets/secret_name.h"

// secret_form is the form in which a name and a value are written.
enum secret_form {
    SECRET_FORM_PROSE, // after other words: `unexpected token: x`
    SECRET_FORM_DATA,  // {"token": "x"}, `token: x` at the start of a line
    SECRET_FORM_PAIR,  // assigned: `token=x`, `--token x`
};

// secret_value_counts says whether the length bytes at value are a secret, under a name
// that is as certain as sure. `null`, `true`, `***` never are.
bool secret_value_counts(enum secret_name sure, enum secret_form form,
                         const char *value, size_t length);

// secret_value_key is the length of a key at text, where a word starts, that has a
// service's prefix, or of a private key with its PEM header; 0: there is none.
size_t secret_value_key(const char *text);

// secret_chance is a random word within a run of the characters that such words have.
struct secret_chance {
    size_t skip;   // bytes before it
    size_t length; // 0: there is none
    size_t run;    // bytes examined
};

// secret_value_chance looks for a random word in the run at text, where a word starts.
struct secret_chance secret_value_chance(const char *text);
