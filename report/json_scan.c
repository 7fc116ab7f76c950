// SPDX-License-Identifier: Apache-2.0
#include "report/json_scan.h"

#include <string.h>

enum { INTEGER_DIGITS = 18, REAL_SIZE = 40 };

// What a byte is within a string.
enum { ORDINARY, SPECIAL };

static const unsigned char classes[256] = { [0x00 ... 0x1f] = SPECIAL,
                                            ['"'] = SPECIAL,
                                            ['\\'] = SPECIAL,
                                            [0x80 ... 0xff] = SPECIAL };

static unsigned char byte_at(const struct json_scan *scan, size_t at)
{
    return at < scan->size ? (unsigned char)scan->bytes[at] : 0;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

// wide_size is the size of the UTF-8 character at `at`, of more than a byte; 0: it is
// none (RFC 3629, section 4).
static size_t wide_size(const struct json_scan *scan, size_t at)
{
    unsigned char first = byte_at(scan, at);
    unsigned char second = byte_at(scan, at + 1);
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (first < 0xc2 || first > 0xf4 || second < least || second > most)
        return 0;
    for (size_t i = 2; i < size; i++) {
        if ((byte_at(scan, at + i) & 0xc0) != 0x80)
            return 0;
    }
    return size;
}

// escape_size is the size of the escape whose backslash is at `at`; 0: it is none, or
// one that a string may not hold or that needs another.
static size_t escape_size(const struct json_scan *scan, size_t at)
{
    unsigned char c = byte_at(scan, at + 1);
    if (c != 'u')
        return c != 0 && strchr("\"\\/bfnrt", c) != NULL ? 2 : 0;
    unsigned value = 0;
    for (size_t i = 2; i < 6; i++) {
        c = byte_at(scan, at + i);
        unsigned lower = c | 0x20;
        if (is_digit(c))
            value = value * 16 + c - '0';
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + lower - 'a' + 10;
        else
            return 0;
    }
    return value == 0 || (value >= 0xd800 && value <= 0xdfff) ? 0 : 6;
}

static void take_string(struct json_scan *scan, struct json_scan_token *token)
{
    size_t at = token->start + 1;
    token->plain = true;
    for (;;) {
        while (at < scan->size && classes[(unsigned char)scan->bytes[at]] == ORDINARY)
            at++;
        unsigned char c = byte_at(scan, at);
        if (c == '"')
            break;
        size_t size = 0;
        if (c >= 0x80)
            size = wide_size(scan, at);
        else if (c == '\\')
            size = escape_size(scan, at);
        token->plain &= c != '\\';
        if (size == 0)
            return;
        at += size;
    }
    token->kind = JSON_SCAN_STRING;
    token->bytes = scan->bytes + token->start + 1;
    token->size = at - token->start - 1;
    scan->at = at + 1;
}

static void take_number(struct json_scan *scan, struct json_scan_token *token)
{
    size_t at = token->start + (byte_at(scan, token->start) == '-');
    size_t first = at;
    while (is_digit(byte_at(scan, at)))
        at++;
    size_t digits = at - first;
    bool real = byte_at(scan, at) == '.';
    if (digits == 0 || digits > INTEGER_DIGITS ||
        (digits > 1 && byte_at(scan, first) == '0'))
        return;
    if (real) {
        first = ++at;
        while (is_digit(byte_at(scan, at)))
            at++;
        if (at == first || at - token->start > REAL_SIZE)
            return;
    }
    if ((byte_at(scan, at) | 0x20) == 'e')
        return;
    token->kind = real ? JSON_SCAN_REAL : JSON_SCAN_INTEGER;
    token->size = at - token->start;
    scan->at = at;
}

static void take_word(struct json_scan *scan, struct json_scan_token *token)
{
    static const struct {
        const char *word;
        enum json_scan_kind kind;
    } words[] = {
        { "true", JSON_SCAN_TRUE },
        { "false", JSON_SCAN_FALSE },
        { "null", JSON_SCAN_NULL },
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i].word);
        if (size > scan->size - token->start ||
            memcmp(token->bytes, words[i].word, size) != 0)
            continue;
        token->kind = words[i].kind;
        token->size = size;
        scan->at = token->start + size;
    }
}

static void take_mark(struct json_scan *scan, struct json_scan_token *token,
                      enum json_scan_kind kind)
{
    token->kind = kind;
    token->size = 1;
    scan->at = token->start + 1;
}

struct json_scan_token json_scan_next(struct json_scan *scan)
{
    size_t at = scan->at;
    unsigned char c;
    while ((c = byte_at(scan, at)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        at++;
    struct json_scan_token token = { .start = at, .bytes = scan->bytes + at };
    static const enum json_scan_kind marks[128] = {
        ['{'] = JSON_SCAN_OBJECT, ['}'] = JSON_SCAN_OBJECT_END,
        ['['] = JSON_SCAN_ARRAY,  [']'] = JSON_SCAN_ARRAY_END,
        [','] = JSON_SCAN_COMMA,  [':'] = JSON_SCAN_COLON,
    };
    if (c == '"')
        take_string(scan, &token);
    else if (c < 128 && marks[c] != JSON_SCAN_WRONG)
        take_mark(scan, &token, marks[c]);
    else if (c == '-' || is_digit(c))
        take_number(scan, &token);
    else if (at < scan->size)
        take_word(scan, &token);
    return token;
}
