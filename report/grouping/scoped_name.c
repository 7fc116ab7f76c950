// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/scoped_name.h"

#include <ctype.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 4096, // longer names are taken as they are
    HASH_DIGITS = 16,      // of a Rust symbol
    NESTING_MAX = 8,       // of names within names
};

// naming_level is a name within which another one is being walked.
struct naming_level {
    const char *at; // where it goes on
    const char *end;
    size_t begin; // of this name in out
};

// naming_walk is a name on its way to its scoped form.
struct naming_walk {
    const char *at;
    const char *end;
    struct text *out;
    size_t begin;
    size_t depth;
    struct naming_level outer[NESTING_MAX];
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// closing_bracket is the bracket at or after open that closes *open, or end. The '>'
// of an arrow closes nothing.
static const char *closing_bracket(const char *open, const char *end)
{
    size_t depth = 0;
    for (const char *at = open; at < end; at++) {
        bool arrow = *at == '>' && at > open && at[-1] == '-';
        if (strchr("<([{", *at) != NULL)
            depth++;
        else if (strchr(">)]}", *at) != NULL && !arrow && --depth == 0)
            return at;
    }
    return end;
}

// find_outside finds word in the text outside of its brackets, or returns NULL.
static const char *find_outside(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    while (at < end) {
        if ((size_t)(end - at) >= length && memcmp(at, word, length) == 0)
            return at;
        at = strchr("<([{", *at) != NULL ? closing_bracket(at, end) : at;
        at += at < end;
    }
    return NULL;
}

static bool begins(const struct naming_walk *walk, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - walk->at) >= length && memcmp(walk->at, word, length) == 0;
}

static size_t written(const struct naming_walk *walk)
{
    return walk->out->size - walk->begin;
}

static bool ends_with(const struct naming_walk *walk, const char *suffix)
{
    size_t length = strlen(suffix);
    return written(walk) >= length &&
           memcmp(walk->out->bytes + walk->out->size - length, suffix, length) == 0;
}

static void cut(struct naming_walk *walk, size_t length)
{
    walk->out->size = walk->begin + length;
    if (walk->out->bytes != NULL)
        walk->out->bytes[walk->out->size] = 0;
}

// walk_operator appends the name of an operator, which may contain any bracket.
static void walk_operator(struct naming_walk *walk, const char *end)
{
    static const char *const symbols[] = { "()", "[]", "<=>", "<<=", ">>=", "->*", "->",
                                           "<<", ">>", "<=",  ">=",  "==",  "!=",  "&&",
                                           "||", "++", "--",  "+=",  "-=",  "*=",  "/=",
                                           "%=", "^=", "&=",  "|=",  "<",   ">" };
    text_append_string(walk->out, "operator");
    walk->at += strlen("operator");
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (!begins(walk, end, symbols[i]))
            continue;
        text_append_string(walk->out, symbols[i]);
        walk->at += strlen(symbols[i]);
        while (walk->at < end && *walk->at == ' ')
            walk->at++; // before template arguments: operator< <int>
        return;
    }
    // A conversion, new, delete, or a symbol without brackets: all up to the
    // parameters.
    while (walk->at < end && *walk->at != '(') {
        if (*walk->at == '<')
            walk->at = closing_bracket(walk->at, end);
        else
            text_append(walk->out, walk->at, 1);
        walk->at += walk->at < end;
    }
}

// is_generic returns true if a type of Rust stands for any: a parameter, a reference, a
// slice.
static bool is_generic(const char *at, const char *end)
{
    return end - at <= 1 || strchr("&*[(", *at) != NULL ||
           (end - at > 4 && memcmp(at, "dyn ", 4) == 0);
}

// walk_within walks another name before what is left of this one.
static void walk_within(struct naming_walk *walk, const char *at, const char *end)
{
    if (walk->depth == NESTING_MAX)
        return;
    walk->outer[walk->depth++] =
        (struct naming_level){ .at = walk->at, .end = walk->end, .begin = walk->begin };
    walk->at = at;
    walk->end = end;
    walk->begin = walk->out->size;
}

// walk_more returns true if anything is left, of this name or of those around it.
static bool walk_more(struct naming_walk *walk)
{
    while (walk->at >= walk->end && walk->depth != 0) {
        const struct naming_level *outer = &walk->outer[--walk->depth];
        walk->at = outer->at;
        walk->end = outer->end;
        walk->begin = outer->begin;
    }
    return walk->at < walk->end;
}

// walk_angle handles what stands in angle brackets: a type with its trait, where a
// component of the name begins, else arguments, which do not count.
static void walk_angle(struct naming_walk *walk, const char *end)
{
    const char *close = closing_bracket(walk->at, end);
    const char *inner = walk->at + 1;
    bool component = written(walk) == 0 || ends_with(walk, "::");
    const char *as = component ? find_outside(inner, close, " as ") : NULL;
    bool impl = component && close - inner > 5 && memcmp(inner, "impl ", 5) == 0;
    walk->at = close < end ? close + 1 : end;
    if (impl) {
        const char *target = find_outside(inner, close, " for ");
        walk_within(walk, target != NULL ? target + 5 : inner + 5, close);
    } else if (as != NULL && is_generic(inner, as)) {
        walk_within(walk, as + 4, close);
    } else if (as != NULL) {
        walk_within(walk, inner, as);
    } else if (written(walk) == 0) {
        walk_within(walk, inner, close);
    } else if (component) {
        cut(walk, written(walk) - 2); // arguments after `::`, as Rust writes them
    }
}

static void walk_parenthesis(struct naming_walk *walk, const char *end)
{
    static const char *const qualifiers[] = { " const", " volatile", " &&", " &",
                                              " noexcept" };
    static const char nameless[] = "(anonymous namespace)";
    if (begins(walk, end, nameless)) {
        text_append_string(walk->out, "(anonymous)");
        walk->at += strlen(nameless);
        return;
    }
    walk->at = closing_bracket(walk->at, end);
    walk->at += walk->at < end;
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
        if (begins(walk, end, qualifiers[i]))
            walk->at += strlen(qualifiers[i]);
    }
}

// walk_brace appends a lambda or closure without its number and parameters.
static void walk_brace(struct naming_walk *walk, const char *end)
{
    const char *close = closing_bracket(walk->at, end);
    const char *inner = walk->at + strspn(walk->at, "{");
    size_t length = 0;
    while (inner + length < close && (is_word(inner[length]) || inner[length] == '.'))
        length++;
    text_append_string(walk->out, "{");
    text_append(walk->out, inner, length);
    text_append_string(walk->out, "}");
    walk->at = close < end ? close + 1 : end;
}

// walk_lambda appends the lambdas of clang (`$_0`), of LLVM's demangler ('lambda0') and
// of gcc's debug information (`<lambda(int)>`).
static bool walk_lambda(struct naming_walk *walk, const char *end)
{
    const char *at = walk->at;
    if (begins(walk, end, "<lambda("))
        at = closing_bracket(at, end) + 1;
    else if (begins(walk, end, "$_"))
        at += 2 + strspn(at + 2, "0123456789");
    else if (begins(walk, end, "'lambda"))
        at = memchr(at + 1, '\'', (size_t)(end - at - 1));
    else
        return false;
    if (at != NULL && at < end && *at == '\'')
        at++;
    walk->at = at != NULL && at < end ? at : end;
    text_append_string(walk->out, "{lambda}");
    return true;
}

static bool at_operator(const struct naming_walk *walk, const char *end)
{
    size_t length = strlen("operator");
    bool fresh = written(walk) == 0 || ends_with(walk, "::");
    return fresh && begins(walk, end, "operator") &&
           (walk->at + length == end || !is_word(walk->at[length]));
}

// walk_word appends a word, or the one byte that is none.
static void walk_word(struct naming_walk *walk, const char *end)
{
    const char *begin = walk->at++;
    while (is_word(*begin) && walk->at < end && is_word(*walk->at))
        walk->at++;
    text_append(walk->out, begin, (size_t)(walk->at - begin));
}

static void walk_name(struct naming_walk *walk)
{
    while (walk_more(walk)) {
        const char *end = walk->end;
        char c = *walk->at;
        if (at_operator(walk, end))
            walk_operator(walk, end);
        else if (strchr("<$'", c) != NULL && walk_lambda(walk, end))
            continue;
        else if (c == '<')
            walk_angle(walk, end);
        else if (c == '(')
            walk_parenthesis(walk, end);
        else if (c == '{')
            walk_brace(walk, end);
        else if (c == '[')
            walk->at = closing_bracket(walk->at, end) + 1; // an ABI tag, a crate's hash
        else if (c == ' ') {
            cut(walk, 0); // what came before was a return type
            walk->at++;
        } else
            walk_word(walk, end);
    }
}

// is_suffix returns true if a mark that was found ends there: `.cold` is none in
// `.coldly`.
static bool is_suffix(const char *found, const char *mark)
{
    size_t length = strlen(mark);
    return !is_word(mark[length - 1]) || !is_word(found[length]);
}

// without_number is where a name of C ends without the number that tells the functions
// apart that gcc nests in others: `inner.0`.
static const char *without_number(const char *name, const char *end)
{
    static const char digits[] = "0123456789";
    const char *dot = name;
    while (dot < end && is_word(*dot))
        dot++;
    bool numbered = dot > name && *dot == '.' && dot + 1 < end &&
                    strspn(dot + 1, digits) == (size_t)(end - dot - 1);
    return numbered ? dot : end;
}

// plain_end is where a name ends without the suffixes of compilers' clones.
static const char *plain_end(const char *name)
{
    static const char *const marks[] = { " [clone ",  ".constprop.", ".isra.",
                                         ".part.",    ".cold",       ".lto_priv.",
                                         ".llvm.",    ".__uniq.",    ".localalias",
                                         "._omp_fn.", "@@",          "@plt" };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(name, marks[i]);
        if (mark != NULL && mark != name && (size_t)(mark - name) < length &&
            is_suffix(mark, marks[i]))
            length = (size_t)(mark - name);
    }
    return without_number(name, name + length);
}

// drop_hash cuts the hash off a name of Rust: `::h` and 16 digits.
static void drop_hash(struct naming_walk *walk)
{
    size_t length = written(walk);
    if (length <= HASH_DIGITS + 3)
        return;
    const char *tail = walk->out->bytes + walk->out->size - HASH_DIGITS - 3;
    if (memcmp(tail, "::h", 3) == 0 &&
        strspn(tail + 3, "0123456789abcdef") == HASH_DIGITS)
        cut(walk, length - HASH_DIGITS - 3);
}

// is_scoped_already is true for a function of C, whose name is nothing else.
static bool is_scoped_already(const char *function)
{
    while (is_word(*function))
        function++;
    return *function == 0;
}

// append_go_method appends a method of Go, which spells its receiver in parentheses,
// without the types of a generic one: `main.(*List[go.shape.int]).Head`.
static void append_go_method(const char *name, struct text *out)
{
    const char *end = name + strlen(name);
    for (; name < end; name++) {
        if (*name == '[')
            name = closing_bracket(name, end);
        else
            text_append(out, name, 1);
    }
}

void scoped_name(const char *function, struct text *out)
{
    static const char *const thunks[] = { "non-virtual thunk to ", "virtual thunk to ",
                                          "covariant return thunk to " };
    struct naming_walk walk = { .at = function, .out = out, .begin = out->size };
    if (is_scoped_already(function) || strlen(function) > NAME_MAX_BYTES) {
        text_append_string(out, function);
        return;
    }
    if (strstr(function, ".(*") != NULL) {
        append_go_method(function, out);
        return;
    }
    for (size_t i = 0; i < sizeof(thunks) / sizeof(thunks[0]); i++) {
        if (strncmp(walk.at, thunks[i], strlen(thunks[i])) == 0)
            walk.at += strlen(thunks[i]);
    }
    walk.end = plain_end(walk.at);
    walk_name(&walk);
    if (!text_ok(out))
        return;
    if (written(&walk) == 0)
        text_append_string(out, function);
    drop_hash(&walk);
    // The call of a lambda is the lambda, however its compiler calls that.
    static const char *const calls[] = { "{lambda}::operator()", "{lambda}::_FUN",
                                         "{lambda}::__invoke" };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (ends_with(&walk, calls[i]))
            cut(&walk, written(&walk) - strlen(calls[i]) + strlen("{lambda}"));
    }
}

// lambda_begins returns true if a lambda's component begins at text: gcc's debug
// information has angle brackets in place of the demangler's braces.
static bool lambda_begins(const char *text)
{
    return strncmp(text, "::{lambda(", 10) == 0 || strncmp(text, "::<lambda(", 10) == 0;
}

// lambda_end is the end of the last lambda of the argument that begins at text: a
// lambda may be defined in another one.
static const char *lambda_end(const char *text)
{
    const char *text_end = text + strlen(text);
    const char *last = text;
    while (*text != 0 && *text != ',' && *text != '>') {
        bool lambda = lambda_begins(text);
        text += lambda ? 2 : 0;
        if (strchr("<([{", *text) != NULL)
            text = closing_bracket(text, text_end);
        text += *text != 0;
        last = lambda ? text : last;
    }
    return last;
}

bool scoped_name_passed_lambda(const char *function, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    const char *begin = function;
    int depth = 0;
    while (*begin != 0 && !lambda_begins(begin))
        begin++;
    if (*begin == 0)
        return false;
    for (; begin > function; begin--) {
        if (depth == 0 && strchr("<, (", begin[-1]) != NULL)
            break;
        depth += strchr(")>", begin[-1]) != NULL;
        depth -= strchr("(<", begin[-1]) != NULL;
    }
    text_append(&name, begin, (size_t)(lambda_end(begin) - begin));
    if (text_ok(&name))
        scoped_name(name.bytes, out);
    return out->size != 0;
}

const char *scoped_name_last(const char *name)
{
    const char *last = name;
    for (const char *at = name; *at != 0; at++) {
        if (at[0] == ':' && at[1] == ':')
            last = at + 2;
    }
    return last;
}

void scoped_name_stem(const char *path, struct text *out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t length = strcspn(name, ".");
    size_t kept = length;
    while (kept > 1 && isdigit((unsigned char)name[kept - 1]))
        kept--;
    if (kept < length && kept > 2 && name[kept - 1] == 'v' &&
        strchr("-_", name[kept - 2]) != NULL)
        kept--;
    while (kept > 1 && kept < length && strchr("-_", name[kept - 1]) != NULL)
        kept--;
    text_append(out, name, kept);
}
