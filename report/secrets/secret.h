// SPDX-License-Identifier: Apache-2.0
//
// How a secret is recognized: by the name that it has, by how a value looks, or both.
// Below are, in this order, names, characters, values, and options of command lines.
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
#include <stdint.h>

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

// SECRET_IS returns whether the character c is of a class: SECRET_IS(*at, LETTER). The
// C library's own predicates depend on the locale.
#define SECRET_IS(c, class) ((secret_classes[(unsigned char)(c)] & SECRET_##class) != 0)
enum {
    SECRET_UPPER = 1,
    SECRET_LOWER = 2,
    SECRET_DIGIT = 4,
    SECRET_JOIN = 8, // `_`, `-` and `.`
    SECRET_SLASH = 16,
    SECRET_PLUS = 32,
    SECRET_HEX = 64, // with letters in lower case
    SECRET_BLANK = 128,
    SECRET_QUOTE = 256,
    SECRET_MARK = 512, // between names and values
    SECRET_LETTER = SECRET_UPPER | SECRET_LOWER,
    SECRET_ALNUM = SECRET_LETTER | SECRET_DIGIT,
    SECRET_NAME = SECRET_ALNUM | SECRET_JOIN, // of a name, or of a word in general
    SECRET_PATH = SECRET_NAME | SECRET_SLASH,
    SECRET_BASE64 = SECRET_PATH | SECRET_PLUS,
};
extern const uint16_t secret_classes[256];

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

// secret_found is a word that is a secret, whatever its name.
struct secret_found {
    size_t skip;   // bytes before it
    size_t length; // 0: there is none
    size_t run;    // bytes in which no other random word begins
};

// secret_value_find looks for one at at, where a word of text starts: a key with a
// service's prefix, a private key in PEM and, if tried is false, a key in hexadecimal
// digits or a random word. tried is set within the run of an earlier call.
struct secret_found secret_value_find(const char *text, const char *at, bool tried);

// In a command line, the value of an option is in the same argument (`-pPASS`,
// `--password=x`) or in the next one (`--otp x`). Long options are judged by their
// name, short ones by a table: some mean the same in most programs, others only in a
// few.

enum secret_option_kind {
    SECRET_OPTION_NONE,
    SECRET_OPTION_VALUE, // all of the value is the secret
    SECRET_OPTION_LOGIN, // user:password, or user%password
};

// secret_option is an option of a command line whose value is a secret.
struct secret_option {
    enum secret_option_kind kind;
    enum secret_name sure;
    size_t attached; // offset of the value in the argument; 0: it is the next argument
};

// secret_option_of examines an argument of length bytes. program is the path or file
// name that the command begins with, or NULL if it is not known.
struct secret_option secret_option_of(const char *program, const char *argument,
                                      size_t length);
