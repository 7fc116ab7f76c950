// SPDX-License-Identifier: Apache-2.0
//
// How it works, in the order of this file:
// - Names: secret_name_of splits a name into words (word_ends), looks each up in one
//   table, and combines them: the most certain word counts, words about secrets cancel
//   it.
// - Values: secret_value_counts returns whether a value is a secret under a name that
//   is so certain. secret_value_find recognizes keys by a service's prefix, and words
//   that look random by how often they change between cases and digits.
// - Options: secret_option_of looks short ones up in a table, long ones by their name.
//
// Everything is a pure function of bytes, only looks ahead (but for the name of a
// digest), and examines no byte more than a few times. No function allocates or depends
// on the locale: the static agent uses it.
#include "report/secrets/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/system/file.h"

const uint16_t secret_classes[256] = {
    ['A' ... 'Z'] = SECRET_UPPER,
    ['a' ... 'f'] = SECRET_LOWER | SECRET_HEX,
    ['g' ... 'z'] = SECRET_LOWER,
    ['0' ... '9'] = SECRET_DIGIT | SECRET_HEX,
    ['_'] = SECRET_JOIN,
    ['-'] = SECRET_JOIN,
    ['.'] = SECRET_JOIN,
    ['/'] = SECRET_SLASH,
    ['+'] = SECRET_PLUS,
    [' '] = SECRET_BLANK | SECRET_MARK,
    ['\t'] = SECRET_BLANK | SECRET_MARK,
    ['"'] = SECRET_QUOTE | SECRET_MARK,
    ['\''] = SECRET_QUOTE | SECRET_MARK,
    ['`'] = SECRET_QUOTE | SECRET_MARK,
    ['='] = SECRET_MARK,
    [':'] = SECRET_MARK,
    ['&'] = SECRET_MARK,
    [';'] = SECRET_MARK,
    [','] = SECRET_MARK,
    ['{'] = SECRET_MARK,
    ['}'] = SECRET_MARK,
    ['['] = SECRET_MARK,
    [']'] = SECRET_MARK,
    ['('] = SECRET_MARK,
    [')'] = SECRET_MARK,
    ['<'] = SECRET_MARK,
    ['>'] = SECRET_MARK,
    ['\r'] = SECRET_MARK,
    ['\n'] = SECRET_MARK,
};

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
    if (at == end || !SECRET_IS(*at, LETTER))
        return true;
    if (!SECRET_IS(*at, UPPER))
        return false;
    return !SECRET_IS(at[-1], UPPER) || (at + 1 < end && SECRET_IS(at[1], LOWER));
}

static bool words_next(struct words *words)
{
    while (words->rest < words->end && !SECRET_IS(*words->rest, LETTER))
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

// changes is how often a word changes between upper case, lower case and digits. A
// capital and the small letter after it count as the same class, because most words in
// names begin like this.
struct changes {
    unsigned upper;
    unsigned lower;
    unsigned digit;
    int change;      // adjacent pairs of different classes
    int same;        // adjacent pairs of the same class
    unsigned before; // class of the letter before; 0: there is none
};

static void changes_add(struct changes *changes, char c)
{
    unsigned class = secret_classes[(unsigned char)c] & SECRET_ALNUM;
    if (class == 0)
        return;
    changes->upper += class == SECRET_UPPER;
    changes->lower += class == SECRET_LOWER;
    changes->digit += class == SECRET_DIGIT;
    bool capital = changes->before == SECRET_UPPER && class == SECRET_LOWER;
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
        size_t n = strlen(ends[i]);
        if (n <= length && strncasecmp(value + length - n, ends[i], n) == 0)
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
    while (digits < length && SECRET_IS(value[digits], DIGIT))
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
        if (SECRET_IS(value[i], BLANK))
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
    uint8_t least;  // bytes after the prefix
    bool digit;     // one of them must be a digit, because words begin like this too
    uint16_t class; // of all of them
};

static const struct key_mark key_marks[] = {
    { "AKIA", 16, false, SECRET_NAME },
    { "ASIA", 16, false, SECRET_NAME },
    { "ABIA", 16, false, SECRET_NAME },
    { "ACCA", 16, false, SECRET_NAME },
    { "AGE-SECRET-KEY-1", 16, false, SECRET_NAME },
    { "AIza", 30, false, SECRET_NAME },
    { "AKID", 16, true, SECRET_NAME },
    { "ATATT3", 16, false, SECRET_NAME },
    { "ATCTT3", 16, false, SECRET_NAME },
    { "EAACEdEose0cBA", 8, false, SECRET_NAME },
    { "GOCSPX-", 16, false, SECRET_NAME },
    { "LTAI", 12, true, SECRET_NAME },
    { "NRAK-", 16, false, SECRET_NAME },
    { "PMAK-", 16, false, SECRET_NAME },
    { "SG.", 20, true, SECRET_NAME },
    { "SK", 32, true, SECRET_HEX },
    { "api.telegram.org/bot", 8, false, SECRET_PATH },
    { "dapi", 32, true, SECRET_HEX },
    { "dckr_pat_", 16, false, SECRET_NAME },
    { "discord.com/api/webhooks/", 16, false, SECRET_PATH },
    { "dop_v1_", 16, false, SECRET_NAME },
    { "doo_v1_", 16, false, SECRET_NAME },
    { "dor_v1_", 16, false, SECRET_NAME },
    { "dp.pt.", 16, false, SECRET_NAME },
    { "eyJ", 24, false, SECRET_NAME },
    { "figd_", 16, false, SECRET_NAME },
    { "ghp_", 20, false, SECRET_NAME },
    { "gho_", 20, false, SECRET_NAME },
    { "ghr_", 20, false, SECRET_NAME },
    { "ghs_", 20, false, SECRET_NAME },
    { "ghu_", 20, false, SECRET_NAME },
    { "github_pat_", 20, false, SECRET_NAME },
    { "glc_", 20, true, SECRET_NAME },
    { "glcbt-", 16, false, SECRET_NAME },
    { "gldt-", 16, false, SECRET_NAME },
    { "glft-", 16, false, SECRET_NAME },
    { "glpat-", 16, false, SECRET_NAME },
    { "glptt-", 16, false, SECRET_NAME },
    { "glrt-", 16, false, SECRET_NAME },
    { "glsa_", 20, false, SECRET_NAME },
    { "gsk_", 20, true, SECRET_NAME },
    { "hf_", 20, true, SECRET_NAME },
    { "hooks.slack.com/services/", 8, false, SECRET_PATH },
    { "hvb.", 20, true, SECRET_NAME },
    { "hvs.", 20, true, SECRET_NAME },
    { "key-", 32, true, SECRET_HEX },
    { "lin_api_", 16, false, SECRET_NAME },
    { "npm_", 30, true, SECRET_NAME },
    { "nvapi-", 16, true, SECRET_NAME },
    { "pscale_", 20, true, SECRET_NAME },
    { "pypi-", 30, true, SECRET_NAME },
    { "rk_live_", 16, false, SECRET_NAME },
    { "rk_test_", 16, false, SECRET_NAME },
    { "rubygems_", 20, true, SECRET_NAME },
    { "sbp_", 20, true, SECRET_NAME },
    { "shpat_", 16, false, SECRET_NAME },
    { "shpca_", 16, false, SECRET_NAME },
    { "shppa_", 16, false, SECRET_NAME },
    { "shpss_", 16, false, SECRET_NAME },
    { "sk-", 20, true, SECRET_NAME },
    { "sk_live_", 16, false, SECRET_NAME },
    { "sk_test_", 16, false, SECRET_NAME },
    { "sntrys_", 16, false, SECRET_NAME },
    { "sntryu_", 16, false, SECRET_NAME },
    { "sq0atp-", 16, false, SECRET_NAME },
    { "sq0csp-", 16, false, SECRET_NAME },
    { "whsec_", 16, false, SECRET_NAME },
    { "xapp-", 16, false, SECRET_NAME },
    { "xoxa-", 8, true, SECRET_NAME },
    { "xoxb-", 8, true, SECRET_NAME },
    { "xoxc-", 8, true, SECRET_NAME },
    { "xoxd-", 8, true, SECRET_NAME },
    { "xoxe", 8, true, SECRET_NAME },
    { "xoxo-", 8, true, SECRET_NAME },
    { "xoxp-", 8, true, SECRET_NAME },
    { "xoxr-", 8, true, SECRET_NAME },
    { "xoxs-", 8, true, SECRET_NAME },
    { "ya29.", 16, false, SECRET_NAME },
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
    for (; (secret_classes[(unsigned char)text[length]] & mark->class) != 0; length++)
        digit |= SECRET_IS(text[length], DIGIT);
    return digit && length - prefix >= mark->least ? length : 0;
}

static size_t key_at(const char *text)
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

// names_digest is true for a name whose value identifies something by its contents or
// at random: `sha256`, `image`, `container_id`.
static bool names_digest(const char *name, size_t length)
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

// hex_key_at is the length of a key of 32 bytes or more in hexadecimal digits. Digests
// look the same: they are in a path, or right after a name that says so.
static size_t hex_key_at(const char *text, const char *at)
{
    enum { KEY_DIGITS = 64, DISTINCT_LEAST = 8, NAME_REACH = 24 };
    unsigned seen = 0;
    size_t length = 0;
    const char *name = at;
    for (; SECRET_IS(at[length], HEX); length++)
        seen |= 1u << (at[length] % 32); // `0` to `9` are 16 to 25, `a` to `f` 1 to 6
    if (length < KEY_DIGITS || length % 2 != 0 || SECRET_IS(at[length], ALNUM) ||
        at[length] == '_' || __builtin_popcount(seen) < DISTINCT_LEAST ||
        (at != text && at[-1] == '/'))
        return 0;
    while (name != text && name[-1] != '\n' && at - name < NAME_REACH)
        name--;
    return names_digest(name, (size_t)(at - name)) ? 0 : length;
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

struct secret_found secret_value_find(const char *text, const char *at, bool tried)
{
    struct secret_found found = { .length = key_at(at) };
    struct group group = { 0 };
    bool random = false;
    if (found.length == 0 && !tried)
        found.length = hex_key_at(text, at);
    if (found.length != 0 || tried)
        return found;
    for (; SECRET_IS(at[found.run], BASE64) && !random; found.run++) {
        char c = at[found.run];
        if (c == '/' || c == '.')
            random = group_add(&group, found.run);
        else
            changes_add(&group.word, c);
    }
    random = random || group_add(&group, found.run);
    if (!random || is_mangled(at + group.start))
        return found;
    while (SECRET_IS(at[found.run], BASE64))
        found.run++;
    found.skip = group.start;
    found.length = found.run - group.start + strspn(at + found.run, "=");
    return found;
}

// place is where the value of a short option may be.
enum place { NEXT = 1, ATTACHED = 2, EITHER = NEXT | ATTACHED };

struct short_option {
    const char *program; // beginning of its name; NULL: any program
    const char *option;
    enum place place;
    enum secret_option_kind kind;
};

static const struct short_option short_options[] = {
    { "7z", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "bcp", "-P", EITHER, SECRET_OPTION_VALUE },
    { "cqlsh", "-p", EITHER, SECRET_OPTION_VALUE },
    { "ftp", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "influx", "-t", NEXT, SECRET_OPTION_VALUE },
    { "ipmitool", "-P", EITHER, SECRET_OPTION_VALUE },
    { "isql", "-P", EITHER, SECRET_OPTION_VALUE },
    { "ldap", "-w", EITHER, SECRET_OPTION_VALUE },
    { "maria", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "mongo", "-p", EITHER, SECRET_OPTION_VALUE },
    { "mosquitto", "-P", EITHER, SECRET_OPTION_VALUE },
    { "mysql", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "openssl", "-K", NEXT, SECRET_OPTION_VALUE },
    { "openssl", "-k", NEXT, SECRET_OPTION_VALUE },
    { "rabbitmqadmin", "-p", EITHER, SECRET_OPTION_VALUE },
    { "redis", "-a", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-A", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-X", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-c", EITHER, SECRET_OPTION_VALUE },
    { "sqlcmd", "-P", EITHER, SECRET_OPTION_VALUE },
    { "sshpass", "-p", EITHER, SECRET_OPTION_VALUE },
    { "unzip", "-P", EITHER, SECRET_OPTION_VALUE },
    { "xfreerdp", "/p:", ATTACHED, SECRET_OPTION_VALUE },
    { "zip", "-P", EITHER, SECRET_OPTION_VALUE },
    { NULL, "-u", EITHER, SECRET_OPTION_LOGIN },
    { NULL, "-U", EITHER, SECRET_OPTION_LOGIN },
    { NULL, "--user", NEXT, SECRET_OPTION_LOGIN },
    { NULL, "--user=", ATTACHED, SECRET_OPTION_LOGIN },
    { NULL, "--proxy-user", NEXT, SECRET_OPTION_LOGIN },
    { NULL, "--proxy-user=", ATTACHED, SECRET_OPTION_LOGIN },
};

// p_words holds the beginnings of words with one dash: `-pthread` is not a password.
static const char *const p_words[] = {
    "-parallel", "-pass",  "-patch", "-path",   "-pedantic", "-peer",  "-pem",
    "-perf",     "-perm",  "-pers",  "-pid",    "-pie",      "-pin",   "-pipe",
    "-pix",      "-pbk",   "-pkcs",  "-pkey",   "-pol",      "-pkg",   "-plat",
    "-play",     "-plot",  "-plug",  "-poll",   "-pool",     "-port",  "-pos",
    "-post",     "-pred",  "-pre",   "-pretty", "-prim",     "-print", "-priv",
    "-proc",     "-prof",  "-prog",  "-proj",   "-prompt",   "-prop",  "-prot",
    "-prov",     "-proxy", "-prune", "-psn_",   "-pthread",  "-pub",   "-pvalue",
    "-pw",
};

static bool option_begins_with(const char *text, size_t length, const char *begin)
{
    size_t n = strlen(begin);
    return n <= length && strncmp(text, begin, n) == 0;
}

// is_p_number is true for -p8080, -p80:80, -p1,2, -p0.
static bool is_p_number(const char *argument, size_t length)
{
    enum { PORT_DIGITS = 5 };
    size_t digits = 0;
    for (size_t i = 2; i < length; i++) {
        bool digit = SECRET_IS(argument[i], DIGIT);
        digits = digit ? digits + 1 : 0;
        if (digits > PORT_DIGITS || (!digit && strchr(":,.-/", argument[i]) == NULL))
            return false;
    }
    return true;
}

// is_p_password is true for `-p` followed by a password, as mysql takes it.
static bool is_p_password(const char *argument, size_t length)
{
    if (length < 4 || !option_begins_with(argument, length, "-p") ||
        strchr("/.=:~", argument[2]) != NULL || is_p_number(argument, length))
        return false;
    for (size_t i = 0; i < sizeof(p_words) / sizeof(p_words[0]); i++) {
        if (option_begins_with(argument, length, p_words[i]))
            return false;
    }
    return true;
}

static struct secret_option attached_at(enum secret_option_kind kind, size_t at)
{
    return (struct secret_option){ kind, SECRET_NAME_ALWAYS, at };
}

// short_option_of looks up an option in the table.
static struct secret_option short_option_of(const char *program, const char *argument,
                                            size_t length)
{
    for (size_t i = 0; i < sizeof(short_options) / sizeof(short_options[0]); i++) {
        const struct short_option *known = &short_options[i];
        size_t name = strlen(known->option);
        if (!option_begins_with(argument, length, known->option))
            continue;
        if (known->program != NULL &&
            (program == NULL ||
             !option_begins_with(program, strlen(program), known->program)))
            continue;
        if (length == name && (known->place & NEXT) != 0)
            return attached_at(known->kind, 0);
        if (length > name && (known->place & ATTACHED) != 0)
            return attached_at(known->kind, name);
    }
    return (struct secret_option){ SECRET_OPTION_NONE, SECRET_NAME_NONE, 0 };
}

struct secret_option secret_option_of(const char *program, const char *argument,
                                      size_t length)
{
    size_t name = 0;
    program = file_name(program);
    struct secret_option option = short_option_of(program, argument, length);
    if (option.kind != SECRET_OPTION_NONE || length < 2 || argument[0] != '-')
        return option;
    if (is_p_password(argument, length))
        return attached_at(SECRET_OPTION_VALUE, 2);
    while (name < length && SECRET_IS(argument[name], NAME))
        name++;
    if (name < length && argument[name] != '=')
        return option;
    option.sure = secret_name_of(argument, name);
    option.attached = name < length ? name + 1 : 0;
    if (option.sure != SECRET_NAME_NONE)
        option.kind = SECRET_OPTION_VALUE;
    return option;
}
