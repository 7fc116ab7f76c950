// SPDX-License-Identifier: Apache-2.0
//
// How it works: sanitize_string moves s->at through the text once. At each position
// there is a mark (scan_mark), a word (scan_word), or a home folder (mask_home_folder);
// any other byte is passed over. Bytes are copied to the output late: [copied, at) is
// text that was read and is not yet written. replace_part writes what precedes a
// secret, then `***`, and moves both positions past it.
//
// The state between positions is the last word, which may be the name of a value
// (s->name), and the last mark (s->mark). A word or a mark may mask something:
// - mask_body: the content of an XML element whose tag is the name of a secret.
// - mask_word: a word that is a secret by itself.
// - mask_option: the value of an option, in a text that quotes a command line.
// - mask_introduced: a word after a scheme or a keyword (`Bearer x`, `password x`).
// - mask_at_mark: the value after a separator or a quote, or the login in a URL.
// The first one that returns true has moved s->at; the others are not called.
//
// Order in this file: marks in any of their spellings (secret_mark_at), where a value
// ends (secret_span), paths, strings, arguments.
#include "report/secrets/sanitize.h"

#include <stdbool.h>
#include <string.h>

#include "report/secrets/people.h"
#include "report/secrets/secret.h"

enum { BACKSLASHES_MAX = 15 };

// secret_mark is a character between names and values. Texts contain other texts (JSON
// in a string, a URL in a parameter, XML), so the same mark has many spellings: `"`,
// `\"`, `%22`, `\u0022`, `&quot;`.
struct secret_mark {
    char character; // 0: no mark is there
    unsigned depth; // backslashes before a quote
    size_t length;  // bytes that it takes
};

static int hex_value(char c)
{
    if (SECRET_IS(c, DIGIT))
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
    if (!SECRET_IS(c, MARK))
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

// secret_mark_at reads the mark that text begins with.
static struct secret_mark secret_mark_at(const char *text)
{
    switch (text[0]) {
    case '%':
        return hex_mark(text, 1);
    case '&':
        return entity_mark(text);
    case '\\':
        return escaped_mark(text);
    default:
        if (!SECRET_IS(text[0], MARK))
            return (struct secret_mark){ 0 };
        return (struct secret_mark){ .character = text[0], .length = 1 };
    }
}

// secret_mark_closes returns true if mark ends what quote opened: within "..." a quote
// after one backslash belongs to the text, a quote after two ends it; within \"...\"
// any quote that is escaped no deeper ends it.
static bool secret_mark_closes(const struct secret_mark *mark,
                               const struct secret_mark *quote)
{
    if (mark->character != quote->character)
        return false;
    if (quote->depth == 0)
        return mark->depth % 2 == 0;
    return mark->depth <= quote->depth;
}

// Where a value that follows a name in a text begins and ends.
//
// This code does not know what is secret; it reads marks
// (report/secrets/secret.h), so that a value ends where its notation ends it. Each
// function examines only the value.

// secret_span is a value, without its quotes.
struct secret_span {
    const char *start;
    const char *end;
};

// secret_span_after_blanks is the position after the blanks at at.
static const char *secret_span_after_blanks(const char *at)
{
    struct secret_mark mark = secret_mark_at(at);
    while (SECRET_IS(mark.character, BLANK)) {
        at += mark.length;
        mark = secret_mark_at(at);
    }
    return at;
}

// secret_span_of_block is the first line of a block of YAML whose header (`|`, `>-`) is
// at at, or NULL: there is no header.
static const char *secret_span_of_block(const char *at)
{
    if (*at != '|' && *at != '>')
        return NULL;
    const char *next = secret_span_after_blanks(at + 1 + strspn(at + 1, "+-123456789"));
    const char *end = next;
    struct secret_mark mark = secret_mark_at(next);
    while (mark.character == '\n' || mark.character == '\r') {
        next = secret_span_after_blanks(next + mark.length);
        mark = secret_mark_at(next);
    }
    return next != end ? next : NULL;
}

// secret_span_quoted is the text between the quote at at and the quote that closes it.
static struct secret_span secret_span_quoted(const char *at,
                                             const struct secret_mark *quote)
{
    struct secret_span span = { at + quote->length, at + quote->length };
    while (*span.end != 0) {
        struct secret_mark mark = secret_mark_at(span.end);
        if (mark.character != 0 && secret_mark_closes(&mark, quote))
            break;
        span.end += mark.length != 0 ? mark.length : 1;
    }
    return span;
}

// secret_span_up_to ends at one of the characters in ends. Escaped spellings of them
// count only if the separator was escaped too: elsewhere `%26` belongs to the value. An
// object, which `}` ends, may have others in it.
static struct secret_span secret_span_up_to(const char *at, const char *ends,
                                            bool spelt)
{
    struct secret_span span = { at, at };
    size_t nested = 0;
    while (*span.end != 0) {
        struct secret_mark mark = secret_mark_at(span.end);
        bool counts =
            mark.character != 0 && (spelt || mark.length == 1 || *span.end == '\\');
        if (counts && strchr(ends, mark.character) != NULL && nested-- == 0)
            break;
        nested += counts && mark.character == '{' && *ends == '}';
        span.end += mark.length != 0 ? mark.length : 1;
    }
    return span;
}

// secret_span_word is a value of one word; brackets and full stops at its end belong to
// the text around it.
static struct secret_span secret_span_word(const char *at, bool spelt)
{
    struct secret_span span = secret_span_up_to(at, " \t\n\r&;,\"'`<", spelt);
    while (span.end > span.start && strchr(")]}>.", span.end[-1]) != NULL)
        span.end--;
    return span;
}

// words_said are words that a sentence about a secret continues with, where another
// text has the secret.
static const char words_said[] =
    "also and are argument auth authentication authorization but can cannot "
    "could did does expired failed flag for from has have if in is it may "
    "missing multiple must needs not of on option or realm requires scheme "
    "should that the to token tokens used was which will with without";

// secret_span_is_said is true for a word that follows the name of a secret in
// sentences: `--token requires`, `Bearer authentication`.
static bool secret_span_is_said(const struct secret_span *word)
{
    size_t length = (size_t)(word->end - word->start);
    for (const char *at = words_said; *at != 0; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && strncasecmp(at, word->start, length) == 0)
            return true;
        at += size;
    }
    return length == 0;
}

#define MASK "***"

// home_length is the length of home without slashes at its end; 0: it is not usable.
static size_t home_length(const char *home)
{
    if (home == NULL || home[0] != '/')
        return 0;
    size_t length = strlen(home);
    while (length > 0 && home[length - 1] == '/')
        length--;
    return length;
}

// match_home is the length of home if text begins with it as a whole path component,
// otherwise 0.
static size_t match_home(const char *text, const char *home)
{
    size_t length = home_length(home);
    if (length == 0 || strncmp(text, home, length) != 0)
        return 0;
    return SECRET_IS(text[length], NAME) ? 0 : length;
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

// match_any_home also matches /home/NAME of any user.
static size_t match_any_home(const char *text, const char *home)
{
    static const char homes[] = "/home/";
    size_t length = match_home(text, home);
    if (length != 0 || strncmp(text, homes, sizeof(homes) - 1) != 0)
        return length;
    length = sizeof(homes) - 1;
    while (SECRET_IS(text[length], NAME))
        length++;
    return length > sizeof(homes) - 1 ? length : 0;
}

// name is the name before a separator, and the form in which it is written.
struct name {
    const char *start; // NULL: there is none
    size_t length;
    bool in_prose;  // a word is right before it
    bool in_quotes; // a quote is right before it
    bool in_tag;    // `<` is right before it
    bool is_apart;  // blanks follow it
};

struct sanitizing {
    const char *text;   // all of it
    const char *at;     // the position
    const char *copied; // everything before it is in out
    const char *tried;  // no random word begins before it
    const char *home;
    struct text *out;
    struct name name;
    struct name tag;          // the XML element that begins here
    char mark;                // the last mark except blanks; 0: a word followed it
    const char *mark_end;     // where it ended
    unsigned lines;           // line ends since the last word
    enum secret_name pending; // of {"name": "password", "value": ...}
    bool after_machine;       // the line names a machine, as the lines of a .netrc do
};

static void copy_up_to(struct sanitizing *s, const char *end)
{
    if (end > s->copied)
        text_append(s->out, s->copied, (size_t)(end - s->copied));
    s->copied = end;
}

// replace_part replaces the text from start to end by words, and continues after it.
static void replace_part(struct sanitizing *s, const char *start, const char *end,
                         const char *words)
{
    copy_up_to(s, start);
    text_append_string(s->out, words);
    s->copied = s->at = end;
    s->name.start = NULL;
    s->mark = 0;
    s->lines = 0;
}

static bool name_is(const struct name *name, const char *word)
{
    return name->start != NULL && strlen(word) == name->length &&
           strncasecmp(name->start, word, name->length) == 0;
}

// mask_span masks a value if it is a secret under a name that is as certain as sure.
static bool mask_span(struct sanitizing *s, enum secret_name sure,
                      enum secret_form form, const struct secret_span *value)
{
    if (!secret_value_counts(sure, form, value->start,
                             (size_t)(value->end - value->start)))
        return false;
    replace_part(s, value->start, value->end, MASK);
    return true;
}

// value_span is the value that begins at at.
static struct secret_span value_span(const struct sanitizing *s, const char *at,
                                     enum secret_name sure,
                                     const struct secret_mark *separator)
{
    struct secret_mark mark = secret_mark_at(at);
    bool spelt = separator->length > 1;
    bool prose = separator->character == ':' && SECRET_IS(at[-1], BLANK);
    if (SECRET_IS(mark.character, QUOTE))
        return secret_span_quoted(at, &mark);
    if (mark.character == '[' && sure >= SECRET_NAME_ALWAYS)
        return secret_span_up_to(at + mark.length, "]", spelt);
    if (mark.character == '{' && sure >= SECRET_NAME_ALWAYS)
        return secret_span_up_to(at + mark.length, "}", spelt);
    if (separator->character == '>')
        return secret_span_up_to(at, "<", spelt);
    if (sure == SECRET_NAME_LINE)
        return secret_span_up_to(at, s->name.in_quotes ? "\n\r\"'" : "\n\r", spelt);
    if (sure == SECRET_NAME_ALWAYS && prose)
        return secret_span_up_to(at, "\n\r,;\"<", spelt);
    return secret_span_word(at, spelt);
}

// is_variable returns true for a name like GITHUB_TOKEN, which is no word of prose.
static bool is_variable(const char *name, size_t length)
{
    bool joined = false;
    for (size_t i = 0; i < length; i++) {
        joined = joined || (name[i] == '_' && i != 0 && i + 1 != length);
        if (name[i] != '_' && !SECRET_IS(name[i], UPPER) && !SECRET_IS(name[i], DIGIT))
            return false;
    }
    return joined;
}

// names_value is true for a name whose value names another value.
static bool names_value(const struct name *name)
{
    return name_is(name, "name") || name_is(name, "key") || name_is(name, "field") ||
           name_is(name, "variable");
}

static enum secret_name name_sure(struct sanitizing *s)
{
    enum secret_name sure = secret_name_of(s->name.start, s->name.length);
    if (s->pending != SECRET_NAME_NONE && name_is(&s->name, "value")) {
        sure = s->pending;
        s->pending = SECRET_NAME_NONE;
    }
    return sure;
}

static enum secret_form name_form(const struct name *name, const char *value,
                                  const struct secret_mark *separator)
{
    if (separator->character == '=' && !name->is_apart && !SECRET_IS(value[-1], BLANK))
        return SECRET_FORM_PAIR;
    // The output of a test program has no names: `PASS: the first case`.
    bool passed = name->length == 4 && strncmp(name->start, "PASS", 4) == 0;
    bool prose = name->in_prose && !is_variable(name->start, name->length);
    return prose || passed ? SECRET_FORM_PROSE : SECRET_FORM_DATA;
}

// mask_value masks the value at at, which follows a name and a separator.
static bool mask_value(struct sanitizing *s, const char *at,
                       const struct secret_mark *separator)
{
    enum secret_name sure = name_sure(s);
    enum secret_form form = name_form(&s->name, at, separator);
    struct secret_mark first = secret_mark_at(at);
    bool named = names_value(&s->name);
    if (first.character == '\n' || *at == 0 || (sure == SECRET_NAME_NONE && !named))
        return false;
    const char *block = secret_span_of_block(at);
    struct secret_span value =
        block != NULL ? secret_span_up_to(block, "\n\r", separator->length > 1)
                      : value_span(s, at, sure, separator);
    struct secret_mark next = secret_mark_at(value.end);
    bool quoted = next.character == '"' || next.character == '\'';
    // Text in quotes may end with a parenthesis, and calls nothing.
    if (value.start == at && value.end != at && value.end[-1] == '(') {
        if (!quoted || (sure < SECRET_NAME_ALWAYS && !SECRET_IS(*at, UPPER)))
            return false;                             // a call, whose argument follows
        value = secret_span_quoted(value.end, &next); // token: Some("x")
    }
    if (named)
        s->pending = secret_name_of(value.start, (size_t)(value.end - value.start));
    if (named && s->pending >= SECRET_NAME_DATA)
        return false; // {"name": "DB_PASSWORD", "value": ...
    return mask_span(s, sure, form, &value);
}

// mask_login masks user:password after "://", at at.
static bool mask_login(struct sanitizing *s, const char *at)
{
    size_t authority = strcspn(at, "/?# \t\n\"'");
    while (authority > 0 && at[authority - 1] != '@')
        authority--;
    if (authority == 0)
        return false;
    replace_part(s, at, at + authority - 1, MASK);
    return true;
}

// mask_bare_login masks the password of user:password@host, which has no scheme. An
// image's tag@sha256:, a symbol's name@@VERSION and an e-mail address have no password.
static bool mask_bare_login(struct sanitizing *s, const char *at)
{
    static const char *const schemes[] = { "mailto", "sip", "sips", "xmpp",
                                           "acct",   "npm", "im",   "tel" };
    size_t length = strcspn(at, "@: \t\r\n\"'`&;,=<>(){}[]");
    // Go's database drivers have the network and, in parentheses, the address.
    bool driver = at[length] == '@' && (strncmp(at + length + 1, "tcp(", 4) == 0 ||
                                        strncmp(at + length + 1, "unix(", 5) == 0);
    if (length == 0 || at[length] != '@' || s->name.is_apart ||
        (s->name.in_prose && !driver) || !SECRET_IS(s->name.start[0], LETTER))
        return false;
    char host = at[length + 1];
    if (!SECRET_IS(host, ALNUM) && host != '[' && host != '(' &&
        (host != '/' || at[length + 2] != '/'))
        return false;
    if (strncmp(at + length + 1, "sha256:", 7) == 0)
        return false;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (name_is(&s->name, schemes[i]))
            return false;
    }
    replace_part(s, at, at + length, MASK);
    return true;
}

// mask_after_separator handles `=`, `:` and the like, at s->at, after a name.
static bool mask_after_separator(struct sanitizing *s, const struct secret_mark *mark)
{
    const char *at = s->at + mark->length;
    if (mark->character == ':' && strncmp(at, "//", 2) == 0)
        return mask_login(s, at + 2);
    if (s->name.start == NULL || *at == mark->character)
        return false;
    if (mark->character == ':' && mask_bare_login(s, at))
        return true;
    if (*at == '=' || (*at == '>' && mark->character == '='))
        at++; // := and =>
    return mask_value(s, secret_span_after_blanks(at), mark);
}

// mask_after_quote handles SQL: IDENTIFIED BY 'x', PASSWORD('x').
static bool mask_after_quote(struct sanitizing *s, const struct secret_mark *quote)
{
    static const char by[] = "identified ";
    size_t before = s->name.start != NULL ? (size_t)(s->name.start - s->text) : 0;
    bool password = s->name.start != NULL && s->name.length >= 4 &&
                    strncasecmp(s->name.start, "pass", 4) == 0;
    bool identified =
        name_is(&s->name, "by") && before >= sizeof(by) - 1 &&
        strncasecmp(s->name.start - (sizeof(by) - 1), by, sizeof(by) - 1) == 0;
    if (!s->name.is_apart || (!password && !identified))
        return false;
    if (!identified && name_sure(s) < SECRET_NAME_ALWAYS)
        return false;
    struct secret_span value = secret_span_quoted(s->at, quote);
    if (value.end == value.start)
        return false;
    replace_part(s, value.start, value.end, MASK);
    return true;
}

// mask_body masks a field of a multipart form, whose name an empty line separates from
// it.
static bool mask_body(struct sanitizing *s)
{
    if (s->pending == SECRET_NAME_NONE || s->lines != 2)
        return false;
    struct secret_span line = secret_span_up_to(s->at, "\n\r", false);
    s->pending = SECRET_NAME_NONE;
    replace_part(s, line.start, line.end, MASK);
    return true;
}

// mask_element masks the content of <password>...</password>.
static bool mask_element(struct sanitizing *s, const struct secret_mark *mark)
{
    s->name = s->tag;
    s->tag.start = NULL;
    if (s->name.start == NULL || s->at[-1] == '/')
        return false;
    struct secret_span value =
        secret_span_up_to(s->at + mark->length, "<", mark->length > 1);
    struct secret_mark end = secret_mark_at(value.end);
    char after = value.end[end.length]; // the text may be cut
    // That is no element in `Cache<Token>.get failed`.
    bool word = SECRET_IS(*value.start, ALNUM);
    return (end.character == '<' ? after == '/' || after == 0 : word) &&
           mask_value(s, value.start, mark);
}

static bool mask_at_mark(struct sanitizing *s, const struct secret_mark *mark)
{
    switch (mark->character) {
    case '=':
    case ':':
        return mask_after_separator(s, mark);
    case '>':
        return mask_element(s, mark);
    case '"':
    case '\'':
    case '`':
        return mask_after_quote(s, mark);
    default:
        return false;
    }
}

// keeps_name is true if the separator of the name may still follow, as in `"password" :
// `, ['password'] = and PASSWORD('.
static bool keeps_name(const struct name *name, const char *at,
                       const struct secret_mark *mark)
{
    switch (mark->character) {
    case ' ':
    case '\t':
        return true;
    case '"':
    case '\'':
        return name->in_quotes;
    case ']': // user[password]=x, of a form
        return name->in_quotes || secret_mark_at(at + mark->length).character == '=';
    case '(':
        return at[mark->length] == '"' || at[mark->length] == '\'';
    default:
        return false;
    }
}

static void scan_mark(struct sanitizing *s, const struct secret_mark *mark)
{
    if (mask_at_mark(s, mark))
        return;
    if (!keeps_name(&s->name, s->at, mark))
        s->name.start = NULL;
    s->name.is_apart |= SECRET_IS(mark->character, BLANK) || mark->character == '(';
    s->at += mark->length;
    if (SECRET_IS(mark->character, BLANK))
        return;
    s->mark = mark->character;
    s->mark_end = s->at;
    s->lines += mark->character == '\n';
    if (mark->character == '\n')
        s->after_machine = false;
    if (mark->character == '}')
        s->pending = SECRET_NAME_NONE;
}

// introduced_sure is how certain a word makes it that the next word is a secret.
static enum secret_name introduced_sure(const struct sanitizing *s,
                                        const struct name *word)
{
    static const struct {
        const char *word;
        enum secret_name sure;
    } introductions[] = {
        { "requirepass", SECRET_NAME_ALWAYS }, { "masterauth", SECRET_NAME_ALWAYS },
        { "Basic", SECRET_NAME_RARE },         { "Negotiate", SECRET_NAME_RARE },
        { "NTLM", SECRET_NAME_RARE },          { "ApiKey", SECRET_NAME_RARE },
        { "PASS", SECRET_NAME_RARE },          { "AUTH", SECRET_NAME_RARE },
        { "PLAIN", SECRET_NAME_RARE },         { "password", SECRET_NAME_RARE },
        { "token", SECRET_NAME_RARE },
    };
    if (name_is(word, "bearer"))
        return *word->start == 'B' ? SECRET_NAME_ALWAYS : SECRET_NAME_RARE;
    if (s->after_machine && name_is(word, "password"))
        return SECRET_NAME_ALWAYS;
    for (size_t i = 0; i < sizeof(introductions) / sizeof(introductions[0]); i++) {
        // Commands are in capitals: a compiler has a `pass mem2reg2`.
        bool command = SECRET_IS(introductions[i].word[1], UPPER);
        if (name_is(word, introductions[i].word) &&
            (!command || SECRET_IS(*word->start, UPPER)))
            return introductions[i].sure;
    }
    // set -gx GH_TOKEN x
    bool names = is_variable(word->start, word->length) &&
                 secret_name_of(word->start, word->length) >= SECRET_NAME_DATA;
    return names ? SECRET_NAME_RARE : SECRET_NAME_NONE;
}

// mask_introduced masks the word after `Bearer`.
static bool mask_introduced(struct sanitizing *s, const struct name *word)
{
    enum secret_name sure = introduced_sure(s, word);
    const char *end = word->start + word->length;
    const char *next = secret_span_after_blanks(end);
    if (sure == SECRET_NAME_NONE || next == end)
        return false;
    struct secret_span value = secret_span_word(next, next - end > 1);
    return !secret_span_is_said(&value) && mask_span(s, sure, SECRET_FORM_DATA, &value);
}

// mask_option masks the value of an option that a text quotes: `mysql -pPASS`. If it is
// not secret, it is examined again like any other words.
static bool mask_option(struct sanitizing *s, size_t length)
{
    if (*s->at != '-' || (s->at != s->text && !SECRET_IS(s->at[-1], BLANK)))
        return false;
    struct secret_span word = secret_span_word(s->at, false);
    struct secret_option option =
        secret_option_of(NULL, s->at, (size_t)(word.end - word.start));
    struct secret_span value = { s->at + option.attached, word.end };
    if (option.kind == SECRET_OPTION_NONE || s->at[length] == '=')
        return false;
    if (option.attached == 0) {
        const char *next = secret_span_after_blanks(word.end);
        struct secret_mark quote = secret_mark_at(next);
        value = quote.character == '"' || quote.character == '\''
                    ? secret_span_quoted(next, &quote)
                    : secret_span_word(next, false);
        if (next == word.end || *next == '-' || secret_span_is_said(&value))
            return false;
    }
    if (option.kind == SECRET_OPTION_LOGIN) {
        size_t size = (size_t)(value.end - value.start);
        const char *colon = memchr(value.start, ':', size);
        if (colon == NULL || colon[1] == '/' ||
            strspn(value.start, "0123456789:") >= size)
            return false;
        value.start = colon + 1;
    }
    return mask_span(s, option.sure, SECRET_FORM_PAIR, &value);
}

// mask_word masks a word that looks like a secret by itself.
static bool mask_word(struct sanitizing *s)
{
    struct secret_found found = secret_value_find(s->text, s->at, s->at < s->tried);
    const char *start = s->at + found.skip;
    if (found.run != 0)
        s->tried = s->at + found.run;
    if (found.length != 0)
        replace_part(s, start, start + found.length, MASK);
    return found.length != 0;
}

static void scan_word(struct sanitizing *s)
{
    struct name word = { .start = s->at };
    bool says = false;
    for (; SECRET_IS(s->at[word.length], NAME); word.length++)
        says |= SECRET_IS(s->at[word.length], LETTER);
    if (mask_body(s) || mask_word(s) || mask_option(s, word.length) ||
        mask_introduced(s, &word))
        return;
    s->at += word.length;
    s->name.start = NULL;
    s->lines = 0;
    if (!says)
        return; // a number, or a dash before an item of a list
    word.in_prose = s->mark == 0;
    word.in_quotes = s->mark_end == word.start && SECRET_IS(s->mark, QUOTE);
    word.in_tag = s->mark_end == word.start &&
                  (s->mark == '<' || (s->mark == ':' && s->tag.start != NULL &&
                                      s->tag.start + s->tag.length + 1 == word.start));
    s->after_machine |= name_is(&word, "machine");
    s->name = word;
    if (word.in_tag)
        s->tag = word;
    s->mark = 0;
}

// mask_home_folder handles the start of a path: no word is right before it, except an
// option of one letter (-I/path).
static bool mask_home_folder(struct sanitizing *s)
{
    size_t at = (size_t)(s->at - s->text);
    bool starts =
        at == 0 || (!SECRET_IS(s->at[-1], NAME) && s->at[-1] != '+') ||
        (at >= 2 && s->at[-2] == '-' && (at == 2 || !SECRET_IS(s->at[-3], NAME)));
    size_t length = *s->at == '/' && starts ? match_any_home(s->at, s->home) : 0;
    if (length == 0)
        return false;
    replace_part(s, s->at, s->at + length, "~");
    return true;
}

static void mask_secrets(const char *string, const char *home, struct text *out)
{
    struct sanitizing s = { .text = string,
                            .at = string,
                            .copied = string,
                            .tried = string,
                            .home = home,
                            .out = out,
                            .mark = '\n' };
    while (*s.at != 0) {
        struct secret_mark mark = secret_mark_at(s.at);
        if (mark.length != 0) {
            scan_mark(&s, &mark);
        } else if (SECRET_IS(*s.at, NAME)) {
            scan_word(&s);
        } else if (!mask_home_folder(&s)) {
            s.at++;
            s.name.start = NULL;
            s.mark = '/';
        }
    }
    copy_up_to(&s, s.at);
}

static bool hides_people;

void sanitize_hide_people(bool hide)
{
    hides_people = hide;
}

void sanitize_string(const char *string, const char *home, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) without = { 0 };
    if (hides_people && people_have(string)) {
        people_mask(string, &without);
        string = text_ok(&without) && without.bytes != NULL ? without.bytes : MASK;
    }
    mask_secrets(string, home, out);
}

void sanitize_named(const char *name, size_t length, const char *value,
                    const char *home, struct text *out)
{
    enum secret_name sure = secret_name_of(name, length);
    if (secret_value_counts(sure, SECRET_FORM_PAIR, value, strlen(value)))
        text_append_string(out, MASK);
    else
        sanitize_string(value, home, out);
}

// append_login appends user:password, or user%password, without the password. Two
// numbers are a user and a group.
static void append_login(const char *login, const char *home, struct text *out)
{
    size_t user = strcspn(login, ":%");
    bool named = SECRET_IS(login[0], ALNUM);
    bool numbers = login[strspn(login, "0123456789:")] == 0;
    if (!named || numbers || login[user] == 0 || login[user + 1] == 0 ||
        strncmp(login + user, "://", 3) == 0) {
        sanitize_string(login, home, out);
        return;
    }
    text_append(out, login, user + 1);
    text_append_string(out, MASK);
}

// append_option_value appends the value of an option: all of it is masked, because a
// password may contain any character.
static void append_option_value(const char *value, const struct secret_option *option,
                                const char *home, struct text *out)
{
    if (option->kind == SECRET_OPTION_LOGIN)
        append_login(value, home, out);
    else if (secret_value_counts(option->sure, SECRET_FORM_PAIR, value, strlen(value)))
        text_append_string(out, MASK);
    else
        sanitize_string(value, home, out);
}

// setting_of treats NAME=VALUE, as `env` takes it, like an option of that name.
static struct secret_option setting_of(const char *argument)
{
    size_t name = 0;
    while (SECRET_IS(argument[name], NAME))
        name++;
    struct secret_option option = { .kind = SECRET_OPTION_NONE };
    if (argument[name] != '=')
        return option;
    option.sure = secret_name_of(argument, name);
    option.attached = name + 1;
    if (option.sure != SECRET_NAME_NONE)
        option.kind = SECRET_OPTION_VALUE;
    return option;
}

void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out)
{
    const struct secret_option given = line->next;
    struct secret_option option = setting_of(argument);
    line->next = (struct secret_option){ .kind = SECRET_OPTION_NONE };
    if (given.kind != SECRET_OPTION_NONE && strncmp(argument, "--", 2) != 0) {
        append_option_value(argument, &given, line->home, out);
        return;
    }
    if (line->program == NULL)
        line->program = argument;
    else if (option.kind == SECRET_OPTION_NONE)
        option = secret_option_of(line->program, argument, strlen(argument));
    if (option.kind == SECRET_OPTION_NONE) {
        sanitize_string(argument, line->home, out);
    } else if (option.attached != 0) {
        text_append(out, argument, option.attached);
        append_option_value(argument + option.attached, &option, line->home, out);
    } else {
        text_append_string(out, argument);
        line->next = option;
    }
}
