// SPDX-License-Identifier: Apache-2.0
//
// How a secret is recognized: by the name that it has, by how a value looks, or both.
// Below are, in this order, names, the characters of a text, and values.
//
// A value is masked under a name that is certain enough, or because it looks like a
// secret, whatever its name. Keys of known services are recognized by their prefixes
// (`AKIA`, `ghp_`, `xoxe-`, a JSON web token, a PEM header), others by looking random:
// a long word that changes between cases and digits far more often than names and paths
// do. Digests in hex and mangled names stay readable. Everything only looks ahead, and
// examines no byte more than a few times. Users: report/secrets/sanitize.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// What a name (of an option, a variable, a key, a header, a query parameter) says about
// the value that belongs to it.
//
// A name is split into words (`db-pass`, `accessToken`, `X-Amz-Signature`,
// `PGPASSWORD2`), and each word is looked up in one table, which says how certain it
// is. `password` is a password anywhere; a `token` may be a parser's, and a `key` a
// map's, so their values count only if the form, or the value itself, says so too.
// Words about a secret (as in "password file" or "max tokens") cancel it.

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

// The characters that secrets are found by: letters, and marks.
//
// A mark is a character between names and values. Texts contain other texts (JSON in a
// string, a URL in a parameter, XML), so the same mark has many spellings: `"`, `\"`,
// `%22`, `\u0022`, `&quot;`. Callers see one character, how many bytes it takes, and
// how deeply it is escaped. All functions are bounded and only look ahead.
// The C library's own predicates depend on the locale.

// secret_mark is a mark at a position of a text.
struct secret_mark {
    char character; // 0: no mark is there
    unsigned depth; // backslashes before a quote
    size_t length;  // bytes that it takes
};

// secret_mark_at reads the mark that text begins with.
struct secret_mark secret_mark_at(const char *text);

// secret_mark_closes returns true if mark ends what quote opened.
bool secret_mark_closes(const struct secret_mark *mark,
                        const struct secret_mark *quote);

static inline bool secret_text_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool secret_text_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool secret_text_is_letter(char c)
{
    return secret_text_is_upper(c) || secret_text_is_lower(c);
}

static inline bool secret_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// secret_text_is_name returns true if c can be part of a name, or of a word in general.
static inline bool secret_text_is_name(char c)
{
    return secret_text_is_letter(c) || secret_text_is_digit(c) || c == '_' ||
           c == '-' || c == '.';
}

static inline bool secret_text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// secret_text_is_variable returns true for a name like GITHUB_TOKEN, which is no word
// of prose.
bool secret_text_is_variable(const char *name, size_t length);

// secret_form is the form in which a name and a value are written.
enum secret_form {
    SECRET_FORM_PROSE, // after other words: `unexpected token: x`
    SECRET_FORM_DATA,  // {"token": "x"}, `token: x` at the start of a line
    SECRET_FORM_PAIR,  // assigned: `token=x`, `--token x`
};

// secret_value_counts returns true if the length bytes at value are a secret, under a
// name that is as certain as sure. `null`, `true`, `***` never are.
bool secret_value_counts(enum secret_name sure, enum secret_form form,
                         const char *value, size_t length);

// secret_value_key is the length of a key at text, where a word starts, that has a
// service's prefix, or of a private key with its PEM header; 0: there is none.
size_t secret_value_key(const char *text);

// secret_value_hex is the length of a key of 32 bytes or more in hexadecimal digits, at
// text, where a word starts; 0: there is none. Digests look the same.
size_t secret_value_hex(const char *text);

// secret_name_is_digest returns true if a name says that its value identifies something
// by its contents or at random: `sha256`, `image`, `container_id`.
bool secret_name_is_digest(const char *name, size_t length);

// secret_chance is a random word within a run of the characters that such words have.
struct secret_chance {
    size_t skip;   // bytes before it
    size_t length; // 0: there is none
    size_t run;    // bytes examined
};

// secret_value_chance looks for a random word in the run at text, where a word starts.
struct secret_chance secret_value_chance(const char *text);
