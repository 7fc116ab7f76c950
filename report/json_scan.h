// SPDX-License-Identifier: Apache-2.0
//
// A JSON text token by token: for readers that know what they look for, and that are
// asked about large reports often.
//
// It is as strict as jansson and stricter where that is shorter: what it does not take
// (an exponent, a number of 19 digits, half a surrogate pair) may still be JSON, so who
// is told no asks jansson. It reads between bytes and size alone and allocates nothing.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum json_scan_kind {
    JSON_SCAN_WRONG, // or at the end
    JSON_SCAN_OBJECT,
    JSON_SCAN_OBJECT_END,
    JSON_SCAN_ARRAY,
    JSON_SCAN_ARRAY_END,
    JSON_SCAN_COMMA,
    JSON_SCAN_COLON,
    JSON_SCAN_STRING,
    JSON_SCAN_INTEGER,
    JSON_SCAN_REAL,
    JSON_SCAN_TRUE,
    JSON_SCAN_FALSE,
    JSON_SCAN_NULL,
};

struct json_scan {
    const char *bytes;
    size_t size;
    size_t at; // what is read next
};

// A token; its bytes are a string's without the quotes. plain: there is no escape in
// it.
struct json_scan_token {
    enum json_scan_kind kind;
    size_t start; // in the text, quote included
    const char *bytes;
    size_t size;
    bool plain;
};

// json_scan_next takes the next token.
struct json_scan_token json_scan_next(struct json_scan *scan);

// json_scan_is compares a plain string with another, which is not empty. Nearly always
// the first byte decides.
static inline bool json_scan_is(const struct json_scan_token *token, const char *string)
{
    return token->plain && token->bytes[0] == string[0] &&
           strncmp(string, token->bytes, token->size) == 0 && string[token->size] == 0;
}
