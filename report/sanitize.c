// SPDX-License-Identifier: Apache-2.0
#include "report/sanitize.h"

#include <string.h>
#include <strings.h>

#define MASK "***"

// Bytes from outside: the C library's functions depend on a locale and fault on
// negative characters.
static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '_';
}

static bool is_name(char c)
{
    return is_word(c) || c == '-' || c == '.';
}

// home_length is the length of home without slashes at its end; 0: not usable.
static size_t home_length(const char *home)
{
    if (home == NULL || home[0] != '/')
        return 0;
    size_t length = strlen(home);
    while (length > 0 && home[length - 1] == '/')
        length--;
    return length;
}

// match_home is how many bytes at text are home as a whole path component.
static size_t match_home(const char *text, const char *home)
{
    size_t length = home_length(home);
    if (length == 0 || strncmp(text, home, length) != 0)
        return 0;
    return is_name(text[length]) ? 0 : length;
}

void sanitize_path(const char *path, const char *home, struct text *out)
{
    size_t length = match_home(path, home);
    if (length != 0 && path[length] != 0 && path[length] != '/')
        length = 0;
    if (length != 0)
        text_append_string(out, "~");
    text_append_string(out, path + length);
}

// match_any_home also knows /home/NAME of whoever.
static size_t match_any_home(const char *text, const char *home)
{
    static const char homes[] = "/home/";
    size_t length = match_home(text, home);
    if (length != 0 || strncmp(text, homes, sizeof(homes) - 1) != 0)
        return length;
    length = sizeof(homes) - 1;
    while (is_name(text[length]))
        length++;
    return length > sizeof(homes) - 1 ? length : 0;
}

// is_one_of: the length bytes at word are one of list, letters of either case.
static bool is_one_of(const char *const *list, const char *word, size_t length)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == length && strncasecmp(*list, word, length) == 0)
            return true;
    }
    return false;
}

static bool ends_in_one_of(const char *const *list, const char *word, size_t length)
{
    for (; *list != NULL; list++) {
        size_t n = strlen(*list);
        if (n <= length && strncasecmp(*list, word + length - n, n) == 0)
            return true;
    }
    return false;
}

// sanitize_is_secret_name: a value under this name (an option, a variable, a query
// parameter, a header) is not for others. Its words count (`db-pass`), and its end
// (`accessToken`).
bool sanitize_is_secret_name(const char *name, size_t length)
{
    static const char *const words[] = {
        "pass",   "pwd",   "key", "keys",          "auth",       "bearer", "cookie",
        "secret", "token", "pin", "authorization", "credential", NULL
    };
    static const char *const ends[] = { "password",     "passwd",      "passphrase",
                                        "secret",       "token",       "apikey",
                                        "accesskey",    "secretkey",   "privatekey",
                                        "credential",   "credentials", "otlp_headers",
                                        "logs_headers", NULL };
    if (ends_in_one_of(ends, name, length))
        return true;
    for (size_t i = 0; i < length;) {
        size_t start = i;
        while (i < length && name[i] != '-' && name[i] != '_' && name[i] != '.')
            i++;
        if (is_one_of(words, name + start, i - start))
            return true;
        i += i < length;
    }
    return false;
}

// match_key is how many bytes at text are a key whose service marks it with a prefix.
static size_t match_key(const char *text)
{
    static const struct {
        const char *prefix;
        size_t least; // bytes behind the prefix
    } keys[] = {
        { "AKIA", 16 },        { "ASIA", 16 },  { "ghp_", 20 },   { "gho_", 20 },
        { "ghs_", 20 },        { "ghu_", 20 },  { "glpat-", 16 }, { "xoxb-", 16 },
        { "github_pat_", 20 }, { "xoxp-", 16 }, { "sk-", 20 },    { "eyJ", 24 },
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t prefix = strlen(keys[i].prefix);
        size_t length = prefix;
        if (strncmp(text, keys[i].prefix, prefix) != 0)
            continue;
        while (is_name(text[length]))
            length++;
        if (length - prefix >= keys[i].least)
            return length;
    }
    return 0;
}

// match_random is how many bytes at text form a long word of letters of both cases and
// digits, as base64 of something random does. Digests in hex stay readable.
static size_t match_random(const char *text)
{
    enum { LEAST = 32 };
    bool upper = false;
    bool lower = false;
    bool digit = false;
    size_t length = 0;
    for (; is_word(text[length]) || text[length] == '+'; length++) {
        upper |= is_upper(text[length]);
        lower |= is_lower(text[length]);
        digit |= is_digit(text[length]);
    }
    if (length < LEAST || !upper || !lower || !digit)
        return 0;
    return length + strspn(text + length, "=");
}

// match_login is how many bytes at text, just behind "://", are user:password@.
static size_t match_login(const char *text)
{
    size_t authority = strcspn(text, "/?# \t\n\"'");
    while (authority > 0 && text[authority - 1] != '@')
        authority--;
    return authority;
}

// match_value is how many bytes at text, just behind a name and its separator, belong
// to the value.
static size_t match_value(const char *text, char separator)
{
    if (separator == ':')
        return strcspn(text, "\r\n\"'");
    return strcspn(text, "&;, \t\r\n\"'");
}

// name_before is the length of the name that ends just before string[at].
static size_t name_before(const char *string, size_t at)
{
    size_t length = 0;
    while (length < at && is_name(string[at - length - 1]))
        length++;
    return length;
}

// mask_value handles string[at], a separator: it appends it, masks the value if the
// name before it is a secret's, and returns the bytes it passed over.
static size_t mask_value(const char *string, size_t at, struct text *out)
{
    size_t name = name_before(string, at);
    size_t length = 1;
    text_append(out, string + at, 1);
    if (name == 0 || !sanitize_is_secret_name(string + at - name, name))
        return length;
    while (string[at + length] == ' ') {
        text_append_string(out, " ");
        length++;
    }
    size_t value = match_value(string + at + length, string[at]);
    if (value != 0)
        text_append_string(out, MASK);
    return length + value;
}

// mask_word handles the start of a word or path at text, and returns the bytes it
// replaced, 0 when there is nothing to hide.
static size_t mask_word(const char *text, const char *home, struct text *out)
{
    size_t length = match_any_home(text, home);
    if (length != 0) {
        text_append_string(out, "~");
        return length;
    }
    length = match_key(text);
    if (length == 0)
        length = match_random(text);
    if (length != 0)
        text_append_string(out, MASK);
    return length;
}

// starts_word: no word runs into string[at], or an option of one letter does (-I/path).
// It looks at three characters, so that a long line costs no more than its length.
static bool starts_word(const char *string, size_t at)
{
    if (at == 0 || (!is_name(string[at - 1]) && string[at - 1] != '+'))
        return true;
    return string[at] == '/' && at >= 2 && string[at - 2] == '-' &&
           (at == 2 || !is_name(string[at - 3]));
}

void sanitize_string(const char *string, const char *home, struct text *out)
{
    for (size_t i = 0; string[i] != 0;) {
        size_t done = 0;
        if (starts_word(string, i))
            done = mask_word(string + i, home, out);
        if (done == 0 && strncmp(string + i, "://", 3) == 0) {
            done = 3 + match_login(string + i + 3);
            text_append_string(out, done > 3 ? "://" MASK "@" : "://");
        }
        if (done == 0 && (string[i] == '=' || string[i] == ':'))
            done = mask_value(string, i, out);
        if (done == 0) {
            text_append(out, string + i, 1);
            done = 1;
        }
        i += done;
    }
}

// mask_login appends user:password without the password.
static void mask_login(const char *argument, const char *home, struct text *out)
{
    const char *colon = strchr(argument, ':');
    if (colon == NULL || strncmp(colon, "://", 3) == 0) {
        sanitize_string(argument, home, out);
        return;
    }
    text_append(out, argument, (size_t)(colon - argument) + 1);
    text_append_string(out, MASK);
}

void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out)
{
    static const char *const logins[] = { "-u", "--user", "--proxy-user", NULL };
    bool secret = line->next_is_secret && strncmp(argument, "--", 2) != 0;
    bool login = line->next_is_login;
    size_t name = 0;

    while (is_name(argument[name]))
        name++;
    bool secret_option = sanitize_is_secret_name(argument, name);
    line->next_is_secret = argument[0] == '-' && argument[name] == 0 && secret_option;
    line->next_is_login = is_one_of(logins, argument, strlen(argument));

    if (secret && *argument != 0) {
        line->next_is_secret = false;
        text_append_string(out, MASK);
    } else if (login) {
        mask_login(argument, line->home, out);
    } else if (argument[name] == '=' && secret_option && argument[name + 1] != 0) {
        text_append(out, argument, name + 1);
        text_append_string(out, MASK); // all of it: a password may hold anything
    } else {
        sanitize_string(argument, line->home, out);
    }
}
