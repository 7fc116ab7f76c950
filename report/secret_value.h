// SPDX-License-Identifier: Apache-2.0
//
// What a value looks like: whether it is worth masking under a name that is more or
// less sure, and whether it is a secret by its own look, whatever its name.
//
// Keys of known services are told by their marks (`AKIA`, `ghp_`, `xoxe-`, a JSON web
// token, a PEM head), others by being made by chance: a long word whose letters change
// between cases and digits far more often than those of names and paths do. Digests in
// hex and mangled names stay readable. All of it looks ahead, and no byte is looked at
// more than a few times. Users: report/sanitize.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "report/secret_name.h"

// The form that a name and a value stand in.
enum secret_form {
    SECRET_FORM_PROSE, // after other words: `unexpected token: x`
    SECRET_FORM_DATA,  // {"token": "x"}, `token: x` at the start of a line
    SECRET_FORM_PAIR,  // set: `token=x`, `--token x`
};

// secret_value_counts is whether the length bytes at value are a secret, under a name
// that is as sure as that. `null`, `true`, `***` never are.
bool secret_value_counts(enum secret_name sure, enum secret_form form,
                         const char *value, size_t length);

// secret_value_key is how many bytes at text, where a word starts, are a key that its
// service marks, or a private key with its PEM head; 0: none.
size_t secret_value_key(const char *text);

// A word made by chance, within a run of the characters that such words have.
struct secret_chance {
    size_t skip;   // bytes before it
    size_t length; // 0: there is none
    size_t run;    // bytes looked at
};

// secret_value_chance looks for one in the run that text, where a word starts, begins.
struct secret_chance secret_value_chance(const char *text);
