// SPDX-License-Identifier: Apache-2.0
//
// How it works, in the order of this file:
// - Characters: secret_mark_at reads one mark in any of its spellings (`"`, `\"`,
//   `%22`, `&quot;`, \u0022). Everything else is a letter, a digit or another byte.
// - Names: secret_name_of splits a name into words (word_ends), looks each up in one
//   table, and combines them: the most certain word counts, words about secrets cancel
//   it.
// - Values: secret_value_counts returns whether a value is a secret under a name that
//   is so certain. secret_value_key recognizes keys by a service's prefix,
//   secret_value_chance words that look random by how often they change between cases
//   and digits.
//
// Everything is a pure function of bytes, only looks ahead, and examines no byte more
// than a few times. No function allocates or depends on the locale: the static agent
// uses it.
#include "report/secrets/secret.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { BACKSLASHES_MAX = 15 };

static bool is_mark(char c)
{
    return c != 0 && strchr("=:\"'`&;,{}[]()<> \t\r\n", c) != NULL;
}

static int hex_value(char c)
{
    if (secret_text_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// hex_mark decodes two hex digits, at text + skip.
static struct secret_mark hex_mark(const char *text, size_t skip)
{
    int high = hex_value(text[skip]);
    int low = high >= 0 ? hex_value(text[skip + 1]) : -1;
    char c = low >= 0 ? (char)(high * 16 + low) : 0;
    if (!is_mark(c))
        return (struct secret_mark){ 0 };
    return (struct secret_mark){ .character = c, .length = skip + 2 };
}

static struct secret_mark entity_mark(const char *text)
{
    static const struct {
        const char *name;
        char character;
    } entities[] = {
        { "&quot;", '"' }, { "&apos;", '\'' }, { "&#34;", '"' }, { "&#39;", '\'' },
        { "&amp;", '&' },  { "&lt;", '<' },    { "&gt;", '>' },
    };
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        size_t length = strlen(entities[i].name);
        if (strncmp(text, entities[i].name, length) == 0)
            return (struct secret_mark){ .character = entities[i].character,
                                         .length = length };
    }
    return (struct secret_mark){ .character = '&', .length = 1 };
}

// escaped_mark decodes what backslashes begin: a quote, a newline, \u0022.
static struct secret_mark escaped_mark(const char *text)
{
    size_t depth = 0;
    while (depth < BACKSLASHES_MAX && text[depth] == '\\')
        depth++;
    char c = text[depth];
    struct secret_mark mark = { .depth = (unsigned)depth, .length = depth + 1 };
    if (c == '"' || c == '\'')
        mark.character = c;
    else if (c == 'n' || c == 'r')
        mark.character = '\n';
    else if (c == 'u' && text[depth + 1] == '0' && text[depth + 2] == '0')
        return hex_mark(text, depth + 3);
    return mark.character != 0 ? mark : (struct secret_mark){ 0 };
}

struct secret_mark secret_mark_at(const char *text)
{
    switch (text[0]) {
    case '%':
        return hex_mark(text, 1);
    case '&':
        return entity_mark(text);
    case '\\':
        return escaped_mark(text);
    default:
        if (!is_mark(text[0]))
            return (struct secret_mark){ 0 };
        return (struct secret_mark){ .character = text[0], .length = 1 };
    }
}

// secret_mark_closes: within "..." a quote after one backslash belongs to the text, a
// quote after two ends it; within \"...\" any quote that is escaped no deeper ends it.
bool secret_mark_closes(const struct secret_mark *mark, const struct secret_mark *quote)
{
    if (mark->character != quote->character)
        return false;
    if (quote->depth == 0)
        return mark->depth % 2 == 0;
    return mark->depth <= quote->depth;
}

enum { NAME_MAX_BYTES = 128 };

// reach is how a word may match: as a word of the name, or also as the end of one,
// because many names have no word boundary (`DBPASSWORD`, `accountkey`).
enum reach { WHOLE, ENDING };

struct secret_word {
    const char *word;
    enum secret_name sure;
    enum reach reach;
};

static const struct secret_word secret_words[] = {
    { "password", SECRET_NAME_ALWAYS, ENDING },
    { "passwords", SECRET_NAME_ALWAYS, ENDING },
    { "passwort", SECRET_NAME_ALWAYS, ENDING },
    { "passwd", SECRET_NAME_ALWAYS, ENDING },
    { "passphrase", SECRET_NAME_ALWAYS, ENDING },
    { "passcode", SECRET_NAME_ALWAYS, ENDING },
    { "pass", SECRET_NAME_DATA, ENDING },
    { "pwd", SECRET_NAME_DATA, ENDING },
    { "pw", SECRET_NAME_DATA, ENDING },
    { "pswd", SECRET_NAME_ALWAYS, WHOLE },
    { "psk", SECRET_NAME_DATA, WHOLE },
    { "secret", SECRET_NAME_ALWAYS, ENDING },
    { "secrets", SECRET_NAME_DATA, WHOLE },
    { "credential", SECRET_NAME_ALWAYS, ENDING },
    { "credentials", SECRET_NAME_ALWAYS, ENDING },
    { "creds", SECRET_NAME_DATA, ENDING },
    { "authorization", SECRET_NAME_LINE, ENDING },
    { "cookie", SECRET_NAME_LINE, ENDING },
    { "cookies", SECRET_NAME_RARE, WHOLE },
    { "token", SECRET_NAME_DATA, ENDING },
    { "tokens", SECRET_NAME_RARE, WHOLE },
    { "jwt", SECRET_NAME_DATA, WHOLE },
    { "bearer", SECRET_NAME_DATA, WHOLE },
    { "auth", SECRET_NAME_DATA, ENDING },
    { "otp", SECRET_NAME_DATA, WHOLE },
    { "totp", SECRET_NAME_DATA, WHOLE },
    { "mfa", SECRET_NAME_DATA, WHOLE },
    { "cvv", SECRET_NAME_DATA, WHOLE },
    { "cvc", SECRET_NAME_DATA, WHOLE },
    { "pin", SECRET_NAME_PAIR, WHOLE },
    { "session", SECRET_NAME_PAIR, WHOLE },
    { "sid", SECRET_NAME_PAIR, WHOLE },
    { "sessid", SECRET_NAME_DATA, ENDING },
    { "sessionid", SECRET_NAME_DATA, ENDING },
    { "sig", SECRET_NAME_PAIR, WHOLE },
    { "signature", SECRET_NAME_PAIR, ENDING },
    { "samlresponse", SECRET_NAME_DATA, WHOLE },
    { "csrf", SECRET_NAME_PAIR, WHOLE },
    { "xsrf", SECRET_NAME_PAIR, WHOLE },
    { "key", SECRET_NAME_PAIR, WHOLE },
    { "keys", SECRET_NAME_RARE, WHOLE },
    { "apikey", SECRET_NAME_ALWAYS, ENDING },
    { "accesskey", SECRET_NAME_ALWAYS, ENDING },
    { "accountkey", SECRET_NAME_ALWAYS, ENDING },
    { "authkey", SECRET_NAME_ALWAYS, ENDING },
    { "encryptionkey", SECRET_NAME_ALWAYS, ENDING },
    { "licensekey", SECRET_NAME_ALWAYS, ENDING },
    { "masterkey", SECRET_NAME_ALWAYS, ENDING },
    { "privatekey", SECRET_NAME_ALWAYS, ENDING },
    { "secretkey", SECRET_NAME_ALWAYS, ENDING },
    { "sharedkey", SECRET_NAME_ALWAYS, ENDING },
    { "signingkey", SECRET_NAME_ALWAYS, ENDING },
    { "storagekey", SECRET_NAME_ALWAYS, ENDING },
};

// secret_pairs holds two words that together say more than each: `session_id`,
// `X-Api-Key`.
static const struct {
    const char *first;
    const char *second;
    enum secret_name sure;
} secret_pairs[] = {
    { "session", "id", SECRET_NAME_ALWAYS },
    { "api", "key", SECRET_NAME_ALWAYS },
    { "access", "key", SECRET_NAME_ALWAYS },
    { "account", "key", SECRET_NAME_ALWAYS },
    { "auth", "key", SECRET_NAME_ALWAYS },
    { "encryption", "key", SECRET_NAME_ALWAYS },
    { "license", "key", SECRET_NAME_ALWAYS },
    { "master", "key", SECRET_NAME_ALWAYS },
    { "private", "key", SECRET_NAME_ALWAYS },
    { "shared", "key", SECRET_NAME_ALWAYS },
    { "signing", "key", SECRET_NAME_ALWAYS },
    { "storage", "key", SECRET_NAME_ALWAYS },
    { "access", "token", SECRET_NAME_ALWAYS },
    { "auth", "token", SECRET_NAME_ALWAYS },
    { "bearer", "token", SECRET_NAME_ALWAYS },
    { "refresh", "token", SECRET_NAME_ALWAYS },
    { "security", "token", SECRET_NAME_ALWAYS },
    { "csrf", "token", SECRET_NAME_ALWAYS },
    { "recovery", "code", SECRET_NAME_ALWAYS },
    { "verification", "code", SECRET_NAME_DATA },
};

// plain_words holds words that end like a secret's name and are none.
static const char *const plain_words[] = {
    "allpass",    "bandpass",  "bypass",  "compass",  "encompass", "highpass",
    "lowpass",    "multipass", "oldpwd",  "onepass",  "overpass",  "renderpass",
    "singlepass", "subpass",   "surpass", "trespass", "underpass", NULL,
};

// words_before: a name that begins with one of these is about a secret, or about
// another kind of key.
static const char *const words_before[] = {
    "allow",   "ask",     "cache",    "count",   "desktop",   "disable", "enable",
    "foreign", "has",     "hot",      "is",      "max",       "min",     "n",
    "need",    "no",      "not",      "num",     "partition", "primary", "public",
    "render",  "require", "required", "routing", "show",      "skip",    "sort",
    "total",   "use",     "verify",   "with",    "without",   "xdg",     NULL,
};

// words_after: the same for a name that ends with one of these.
static const char *const words_after[] = {
    "action",     "addr",     "address",  "age",    "alg",     "algorithm", "attempts",
    "bits",       "board",    "bytes",    "class",  "column",  "count",     "dir",
    "directory",  "enabled",  "endpoint", "error",  "errors",  "event",     "exp",
    "expiration", "expires",  "expiry",   "field",  "file",    "files",     "format",
    "handler",    "header",   "hint",     "host",   "idx",     "index",     "kind",
    "label",      "len",      "length",   "limit",  "manager", "mask",      "max",
    "method",     "min",      "mode",     "name",   "names",   "num",       "number",
    "offset",     "path",     "policy",   "port",   "pos",     "press",     "prompt",
    "ptr",        "required", "retries",  "scheme", "server",  "service",   "size",
    "sock",       "socket",   "space",    "status", "timeout", "ttl",       "type",
    "uri",        "url",      "usage",    "used",   "user",    "version",   "width",
    NULL,
};

// words is a name being split into words, and the word that was found last.
struct words {
    const char *rest;
    const char *end;
    const char *word;
    size_t length;
};

// word_ends returns true if a word ends before at: before an upper-case letter
// (accessToken), and before the last of several capitals (APIKey).
static bool word_ends(const char *at, const char *end)
{
    if (at == end || !secret_text_is_letter(*at))
        return true;
    if (!secret_text_is_upper(*at))
        return false;
    return !secret_text_is_upper(at[-1]) ||
           (at + 1 < end && secret_text_is_lower(at[1]));
}

static bool words_next(struct words *words)
{
    while (words->rest < words->end && !secret_text_is_letter(*words->rest))
        words->rest++;
    words->word = words->rest;
    if (words->rest == words->end)
        return false;
    do
        words->rest++;
    while (!word_ends(words->rest, words->end));
    words->length = (size_t)(words->rest - words->word);
    return true;
}

// word_is compares the first letter before it calls anything: a name is compared with
// some two hundred words. other is in lower case.
static bool word_is(const struct words *words, const char *other)
{
    return (*words->word | 0x20) == *other &&
           strncasecmp(words->word, other, words->length) == 0 &&
           other[words->length] == 0;
}

static bool word_is_listed(const struct words *words, const char *const *list)
{
    while (*list != NULL && !word_is(words, *list))
        list++;
    return *list != NULL;
}

static bool bytes_end_in(const char *bytes, size_t length, const char *end)
{
    size_t n = strlen(end);
    return n <= length && (bytes[length - 1] | 0x20) == end[n - 1] &&
           strncasecmp(bytes + length - n, end, n) == 0;
}

static enum secret_name surer(enum secret_name a, enum secret_name b)
{
    return a > b ? a : b;
}

static enum secret_name word_sure(const struct words *words)
{
    enum secret_name sure = SECRET_NAME_NONE;
    if (word_is_listed(words, plain_words))
        return SECRET_NAME_NONE;
    for (size_t i = 0; i < sizeof(secret_words) / sizeof(secret_words[0]); i++) {
        const struct secret_word *known = &secret_words[i];
        if (known->reach == WHOLE
                ? word_is(words, known->word)
                : bytes_end_in(words->word, words->length, known->word))
            sure = surer(sure, known->sure);
    }
    return sure;
}

static enum secret_name pair_sure(const struct words *first, const struct words *second)
{
    for (size_t i = 0; i < sizeof(secret_pairs) / sizeof(secret_pairs[0]); i++) {
        if (word_is(first, secret_pairs[i].first) &&
            word_is(second, secret_pairs[i].second))
            return secret_pairs[i].sure;
    }
    return SECRET_NAME_NONE;
}

// ending_sure knows variables whose value is a list of headers.
static enum secret_name ending_sure(const char *name, size_t length)
{
    static const char *const lines[] = { "otlp_headers", "logs_headers",
                                         "traces_headers", "metrics_headers" };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (bytes_end_in(name, length, lines[i]))
            return SECRET_NAME_LINE;
    }
    return SECRET_NAME_NONE;
}

enum secret_name secret_name_of(const char *name, size_t length)
{
    if (length > NAME_MAX_BYTES) {
        name += length - NAME_MAX_BYTES;
        length = NAME_MAX_BYTES;
    }
    enum secret_name sure = ending_sure(name, length);
    struct words words = { .rest = name, .end = name + length };
    struct words before = words;
    for (size_t i = 0; words_next(&words); i++) {
        if (i == 0 && word_is_listed(&words, words_before))
            return SECRET_NAME_NONE;
        sure = surer(sure, word_sure(&words));
        if (i != 0)
            sure = surer(sure, pair_sure(&before, &words));
        before = words;
    }
    bool about = before.length != 0 && word_is_listed(&before, words_after);
    return about ? SECRET_NAME_NONE : sure;
}

enum {
    CHANCE_LEAST = 32,    // letters and digits of a random word
    CHOSEN_LEAST = 6,     // bytes of a random value under an uncertain name
    NUMBER_LEAST = 4,     // digits of a number that may be a secret
    ADDRESS_LONGEST = 18, // 0x and 16 digits
    PEM_HEAD_LONGEST = 64,
};

static bool is_base64(char c)
{
    return secret_text_is_name(c) || c == '/' || c == '+';
}

static bool is_hex_digit(char c)
{
    return secret_text_is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_key_path(char c)
{
    return secret_text_is_name(c) || c == '/';
}

// changes is how often a word changes between upper case, lower case and digits. A
// capital and the small letter after it count as the same class, because most words in
// names begin like this.
struct changes {
    unsigned upper;
    unsigned lower;
    unsigned digit;
    int change;  // adjacent pairs of different classes
    int same;    // adjacent pairs of the same class
    char before; // class of the letter before: A, a, 0; 0: there is none
};

bool secret_text_is_variable(const char *name, size_t length)
{
    bool joined = false;
    for (size_t i = 0; i < length; i++) {
        joined = joined || (name[i] == '_' && i != 0 && i + 1 != length);
        if (name[i] != '_' && !secret_text_is_upper(name[i]) &&
            !secret_text_is_digit(name[i]))
            return false;
    }
    return joined;
}

static char class_of(char c)
{
    if (secret_text_is_upper(c))
        return 'A';
    if (secret_text_is_lower(c))
        return 'a';
    return secret_text_is_digit(c) ? '0' : 0;
}

static void changes_add(struct changes *changes, char c)
{
    char class = class_of(c);
    if (class == 0)
        return;
    changes->upper += class == 'A';
    changes->lower += class == 'a';
    changes->digit += class == '0';
    bool capital = changes->before == 'A' && class == 'a';
    if (changes->before != 0 && changes->before != class && !capital)
        changes->change++;
    else if (changes->before != 0)
        changes->same++;
    changes->before = class;
}

// value_is_none is true for a word that is in the place of a secret and is none.
static bool value_is_none(const char *value, size_t length)
{
    static const char *const none[] = {
        "null",  "(null)",  "<null>",  "nil",       "none",    "true",     "false",
        "yes",   "no",      "on",      "off",       "enabled", "disabled", "required",
        "unset", "missing", "invalid", "undefined", "default", "failed",   "denied",
        "ok",    "%s",      "%d",      "***",       NULL,
    };
    while (length > 0 && strchr(")]}.!", value[length - 1]) != NULL)
        length--;
    for (size_t i = 0; none[i] != NULL; i++) {
        if (strlen(none[i]) == length && strncasecmp(none[i], value, length) == 0)
            return true;
    }
    return length == 0;
}

static bool value_ends_in(const char *value, size_t length, const char *end)
{
    size_t n = strlen(end);
    return n <= length && strncasecmp(value + length - n, end, n) == 0;
}

static bool value_is_path(const char *value, size_t length)
{
    static const char *const starts[] = { "/", "./", "../", "~/" };
    static const char *const ends[] = { ".pem",  ".key", ".crt", ".cer",  ".p12",
                                        ".pfx",  ".jks", ".pub", ".json", ".txt",
                                        ".conf", ".cfg", ".yml", ".yaml" };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        size_t n = strlen(starts[i]);
        if (n <= length && strncmp(value, starts[i], n) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (value_ends_in(value, length, ends[i]))
            return true;
    }
    return false;
}

// value_is_small is true for a count, a level, an address.
static bool value_is_small(const char *value, size_t length)
{
    size_t digits = 0;
    if (length > 2 && length <= ADDRESS_LONGEST && value[0] == '0' && value[1] == 'x')
        return true;
    while (digits < length && secret_text_is_digit(value[digits]))
        digits++;
    return digits == length && digits < NUMBER_LEAST;
}

// value_looks_chosen is true if there are more changes than in `item12`, as in a key or
// a good password.
static bool value_looks_chosen(const char *value, size_t length)
{
    struct changes changes = { 0 };
    size_t seen = length < CHANCE_LEAST ? length : CHANCE_LEAST;
    for (size_t i = 0; i < seen; i++) {
        if (secret_text_is_blank(value[i]))
            return false;
        changes_add(&changes, value[i]);
    }
    return length >= CHOSEN_LEAST && changes.digit != 0 && changes.change >= 2;
}

bool secret_value_counts(enum secret_name sure, enum secret_form form,
                         const char *value, size_t length)
{
    static const enum secret_form least[] = {
        [SECRET_NAME_PAIR] = SECRET_FORM_PAIR,
        [SECRET_NAME_DATA] = SECRET_FORM_DATA,
    };
    if (sure == SECRET_NAME_NONE || value_is_none(value, length))
        return false;
    if (sure >= SECRET_NAME_ALWAYS)
        return true;
    if (value_is_path(value, length))
        return false;
    bool set = sure == SECRET_NAME_DATA && form == SECRET_FORM_PAIR;
    if (!set && value_is_small(value, length))
        return false;
    if (sure != SECRET_NAME_RARE && form >= least[sure])
        return true;
    return value_looks_chosen(value, length);
}

// key_mark is a key with a service's prefix, and what follows the prefix.
struct key_mark {
    const char *prefix;
    uint8_t least; // bytes after the prefix
    bool digit;    // one of them must be a digit, because words begin like this too
    bool (*is_of)(char c);
};

static const struct key_mark key_marks[] = {
    { "AKIA", 16, false, secret_text_is_name },
    { "ASIA", 16, false, secret_text_is_name },
    { "ABIA", 16, false, secret_text_is_name },
    { "ACCA", 16, false, secret_text_is_name },
    { "AGE-SECRET-KEY-1", 16, false, secret_text_is_name },
    { "AIza", 30, false, secret_text_is_name },
    { "AKID", 16, true, secret_text_is_name },
    { "ATATT3", 16, false, secret_text_is_name },
    { "ATCTT3", 16, false, secret_text_is_name },
    { "EAACEdEose0cBA", 8, false, secret_text_is_name },
    { "GOCSPX-", 16, false, secret_text_is_name },
    { "LTAI", 12, true, secret_text_is_name },
    { "NRAK-", 16, false, secret_text_is_name },
    { "PMAK-", 16, false, secret_text_is_name },
    { "SG.", 20, true, secret_text_is_name },
    { "SK", 32, true, is_hex_digit },
    { "api.telegram.org/bot", 8, false, is_key_path },
    { "dapi", 32, true, is_hex_digit },
    { "dckr_pat_", 16, false, secret_text_is_name },
    { "discord.com/api/webhooks/", 16, false, is_key_path },
    { "dop_v1_", 16, false, secret_text_is_name },
    { "doo_v1_", 16, false, secret_text_is_name },
    { "dor_v1_", 16, false, secret_text_is_name },
    { "dp.pt.", 16, false, secret_text_is_name },
    { "eyJ", 24, false, secret_text_is_name },
    { "figd_", 16, false, secret_text_is_name },
    { "ghp_", 20, false, secret_text_is_name },
    { "gho_", 20, false, secret_text_is_name },
    { "ghr_", 20, false, secret_text_is_name },
    { "ghs_", 20, false, secret_text_is_name },
    { "ghu_", 20, false, secret_text_is_name },
    { "github_pat_", 20, false, secret_text_is_name },
    { "glc_", 20, true, secret_text_is_name },
    { "glcbt-", 16, false, secret_text_is_name },
    { "gldt-", 16, false, secret_text_is_name },
    { "glft-", 16, false, secret_text_is_name },
    { "glpat-", 16, false, secret_text_is_name },
    { "glptt-", 16, false, secret_text_is_name },
    { "glrt-", 16, false, secret_text_is_name },
    { "glsa_", 20, false, secret_text_is_name },
    { "gsk_", 20, true, secret_text_is_name },
    { "hf_", 20, true, secret_text_is_name },
    { "hooks.slack.com/services/", 8, false, is_key_path },
    { "hvb.", 20, true, secret_text_is_name },
    { "hvs.", 20, true, secret_text_is_name },
    { "key-", 32, true, is_hex_digit },
    { "lin_api_", 16, false, secret_text_is_name },
    { "npm_", 30, true, secret_text_is_name },
    { "nvapi-", 16, true, secret_text_is_name },
    { "pscale_", 20, true, secret_text_is_name },
    { "pypi-", 30, true, secret_text_is_name },
    { "rk_live_", 16, false, secret_text_is_name },
    { "rk_test_", 16, false, secret_text_is_name },
    { "rubygems_", 20, true, secret_text_is_name },
    { "sbp_", 20, true, secret_text_is_name },
    { "shpat_", 16, false, secret_text_is_name },
    { "shpca_", 16, false, secret_text_is_name },
    { "shppa_", 16, false, secret_text_is_name },
    { "shpss_", 16, false, secret_text_is_name },
    { "sk-", 20, true, secret_text_is_name },
    { "sk_live_", 16, false, secret_text_is_name },
    { "sk_test_", 16, false, secret_text_is_name },
    { "sntrys_", 16, false, secret_text_is_name },
    { "sntryu_", 16, false, secret_text_is_name },
    { "sq0atp-", 16, false, secret_text_is_name },
    { "sq0csp-", 16, false, secret_text_is_name },
    { "whsec_", 16, false, secret_text_is_name },
    { "xapp-", 16, false, secret_text_is_name },
    { "xoxa-", 8, true, secret_text_is_name },
    { "xoxb-", 8, true, secret_text_is_name },
    { "xoxc-", 8, true, secret_text_is_name },
    { "xoxd-", 8, true, secret_text_is_name },
    { "xoxe", 8, true, secret_text_is_name },
    { "xoxo-", 8, true, secret_text_is_name },
    { "xoxp-", 8, true, secret_text_is_name },
    { "xoxr-", 8, true, secret_text_is_name },
    { "xoxs-", 8, true, secret_text_is_name },
    { "ya29.", 16, false, secret_text_is_name },
};

// pem_length is the length of a private key in PEM at text, even if it is truncated.
static size_t pem_length(const char *text)
{
    static const char begin[] = "-----BEGIN ";
    static const char end[] = "-----END ";
    static const char kind[] = "PRIVATE KEY";
    const char *found = NULL;
    if (strncmp(text, begin, sizeof(begin) - 1) != 0)
        return 0;
    const char *head = text + sizeof(begin) - 1;
    for (size_t i = 0; found == NULL && i < PEM_HEAD_LONGEST; i++) {
        if (head[i] == '-' || head[i] == 0)
            return 0;
        if (strncmp(head + i, kind, sizeof(kind) - 1) == 0)
            found = head + i;
    }
    if (found == NULL)
        return 0;
    const char *last = strstr(found, end);
    if (last == NULL)
        return strlen(text);
    last += sizeof(end) - 1;
    last += strcspn(last, "-");
    return (size_t)(last - text) + strspn(last, "-");
}

static size_t secret_key_length(const char *text, const struct key_mark *mark)
{
    size_t prefix = strlen(mark->prefix);
    size_t length = prefix;
    bool digit = !mark->digit;
    if (strncmp(text, mark->prefix, prefix) != 0)
        return 0;
    for (; mark->is_of(text[length]); length++)
        digit |= secret_text_is_digit(text[length]);
    return digit && length - prefix >= mark->least ? length : 0;
}

size_t secret_value_key(const char *text)
{
    if (text[0] == '-')
        return pem_length(text);
    for (size_t i = 0; i < sizeof(key_marks) / sizeof(key_marks[0]); i++) {
        if (text[0] != key_marks[i].prefix[0])
            continue;
        size_t length = secret_key_length(text, &key_marks[i]);
        if (length != 0)
            return length;
    }
    return 0;
}

size_t secret_value_hex(const char *text)
{
    enum { KEY_DIGITS = 64, DISTINCT_LEAST = 8 };
    unsigned seen = 0;
    size_t length = 0;
    for (; is_hex_digit(text[length]); length++)
        seen |= 1u << (isdigit((unsigned char)text[length])
                           ? text[length] - '0'
                           : (text[length] | 32) - 'a' + 10);
    bool ends = !isalnum((unsigned char)text[length]) && text[length] != '_';
    return length >= KEY_DIGITS && length % 2 == 0 && ends &&
                   __builtin_popcount(seen) >= DISTINCT_LEAST
               ? length
               : 0;
}

bool secret_name_is_digest(const char *name, size_t length)
{
    static const char *const parts[] = { "digest",   "sha",   "blake",
                                         "checksum", "image", "container",
                                         "layer",    "build", "commit" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (size_t k = 0; k + strlen(parts[i]) <= length; k++)
            if (strncasecmp(name + k, parts[i], strlen(parts[i])) == 0)
                return true;
    return false;
}

// is_mangled is true for mangled names of C++, Rust and D, which look as random.
static bool is_mangled(const char *text)
{
    size_t underscores = strspn(text, "_");
    char kind = text[underscores];
    return underscores != 0 && (kind == 'Z' || kind == 'R' || kind == 'D');
}

// group is adjacent words, as `/` separates them in base64, each of which may be
// random.
struct group {
    struct changes word;
    unsigned upper;
    unsigned lower;
    unsigned digit;
    int change;
    int same;
    size_t start;
};

// word_may_be_chance is false for the words of paths, which are lower case or seldom
// change.
static bool word_may_be_chance(const struct changes *word)
{
    enum { SHORT = 8, LEAST_IN = 8 };
    int pairs = word->change + word->same;
    return pairs == 0 || word->change * LEAST_IN >= pairs ||
           (pairs < SHORT && word->upper != 0);
}

// group_add ends the word at offset at of the run, and returns whether the group is
// random.
static bool group_add(struct group *group, size_t at)
{
    const struct changes word = group->word;
    group->word = (struct changes){ 0 };
    if (!word_may_be_chance(&word)) {
        *group = (struct group){ .start = at + 1 };
        return false;
    }
    group->upper += word.upper;
    group->lower += word.lower;
    group->digit += word.digit;
    group->change += word.change;
    group->same += word.same;
    // In random text nearly every second letter differs from its neighbour in class, in
    // names and paths one of five.
    enum { UPPER_LEAST = 4, LOWER_LEAST = 4, LEAST_IN = 4 };
    return group->upper >= UPPER_LEAST && group->lower >= LOWER_LEAST &&
           group->digit != 0 &&
           group->upper + group->lower + group->digit >= CHANCE_LEAST &&
           group->change * LEAST_IN >= group->change + group->same;
}

struct secret_chance secret_value_chance(const char *text)
{
    struct secret_chance chance = { 0 };
    struct group group = { 0 };
    bool found = false;
    for (; is_base64(text[chance.run]) && !found; chance.run++) {
        char c = text[chance.run];
        if (c == '/' || c == '.')
            found = group_add(&group, chance.run);
        else
            changes_add(&group.word, c);
    }
    found = found || group_add(&group, chance.run);
    if (!found || is_mangled(text + group.start))
        return chance;
    while (is_base64(text[chance.run]))
        chance.run++;
    chance.skip = group.start;
    chance.length = chance.run - group.start + strspn(text + chance.run, "=");
    return chance;
}
