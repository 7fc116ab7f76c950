// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/secret_value.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "report/secrets/secret_text.h"

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

static bool value_is(const char *value, size_t length, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == length && strncasecmp(*list, value, length) == 0)
            return true;
    }
    return false;
}

// value_is_none is true for a word that stands in the place of a secret and is none.
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
    return length == 0 || value_is(value, length, none);
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

// group_is_chance: in random text nearly every second letter differs from its neighbour
// in class, in names and paths one of five.
static bool group_is_chance(const struct group *group)
{
    enum { UPPER_LEAST = 4, LOWER_LEAST = 4, LEAST_IN = 4 };
    return group->upper >= UPPER_LEAST && group->lower >= LOWER_LEAST &&
           group->digit != 0 &&
           group->upper + group->lower + group->digit >= CHANCE_LEAST &&
           group->change * LEAST_IN >= group->change + group->same;
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
    return group_is_chance(group);
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
