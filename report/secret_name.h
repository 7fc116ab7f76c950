// SPDX-License-Identifier: Apache-2.0
//
// What a name (of an option, a variable, a key, a header, a query parameter) says of
// the value that stands with it.
//
// A name is cut into words (`db-pass`, `accessToken`, `X-Amz-Signature`,
// `PGPASSWORD2`), and each word is looked up in one table, which says how sure it is.
// `password` is a password wherever it stands; a `token` may be a parser's, and a `key`
// a map's, so their values count only where the form, or the value itself, says so too.
// Words about a secret (`password_file`, `max_tokens`) take it back. Users:
// report/sanitize.c, the symbolizer's values.
#pragma once
#include <stddef.h>

// How sure a name is, each including what is sure of less.
enum secret_name {
    SECRET_NAME_NONE,
    SECRET_NAME_RARE,   // only a value that looks made by chance: `tokens`, `keys`
    SECRET_NAME_PAIR,   // and what is set, as in `key=x`
    SECRET_NAME_DATA,   // and what stands in data, as in {"token": "x"}, not in prose
    SECRET_NAME_ALWAYS, // `password`
    SECRET_NAME_LINE,   // a header whose whole line is the value: `Cookie: a=b; c=d`
};

// secret_name_of looks at the length bytes at name; of a longer one at its end.
enum secret_name secret_name_of(const char *name, size_t length);
