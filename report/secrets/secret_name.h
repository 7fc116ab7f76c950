// SPDX-License-Identifier: Apache-2.0
//
// What a name (of an option, a variable, a key, a header, a query parameter) says about
// the value that belongs to it.
//
// A name is split into words (`db-pass`, `accessToken`, `X-Amz-Signature`,
// `PGPASSWORD2`), and each word is looked up in one table, which says how certain it
// is. `password` is a password anywhere; a `token` may be a parser's, and a `key` a
// map's, so their values count only if the form, or the value itself, says so too.
// Words about a secret (as in "password file" or "max tokens") cancel it. Users:
// report/secrets/sanitize.c, the symbolizer's values.
#pragma once
#include <stddef.h>

// secret_name is how certain a name is; each level includes the levels before it.
enum secret_name {
    SECRET_NAME_NONE,
    SECRET_NAME_RARE,   // only a value that looks random: `tokens`, `keys`
    SECRET_NAME_PAIR,   // and a value that is assigned, as in `key=x`
    SECRET_NAME_DATA,   // and a value in data, as in {"token": "x"}, but not in prose
    SECRET_NAME_ALWAYS, // `password`
    SECRET_NAME_LINE,   // a header whose whole line is the value: `Cookie: a=b; c=d`
};

// secret_name_of examines the length bytes at name; of a longer name, its end.
enum secret_name secret_name_of(const char *name, size_t length);
