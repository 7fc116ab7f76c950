// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/secret_name.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "report/secrets/secret_text.h"

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

// word_ends says whether a word ends before at: before an upper-case letter
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
