// SPDX-License-Identifier: Apache-2.0
#include "report/summary/readable_name.h"

#include <stdbool.h>
#include <string.h>

// bracket_end is the offset after the '>' that closes the '<' at text[open]; 0: none
// does. The '>' of an arrow is not a bracket.
static size_t bracket_end(const char *text, size_t open)
{
    size_t depth = 0;
    for (size_t i = open; text[i] != 0; i++) {
        bool arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
        depth += text[i] == '<';
        if (text[i] == '>' && !arrow && --depth == 0)
            return i + 1;
    }
    return 0;
}

// match_default is the length of a template argument at text that is the library's
// default; 0: there is none.
static size_t match_default(const char *text)
{
    static const char *const defaults[] = {
        ", std::allocator<", ", std::char_traits<", ", std::less<",
        ", std::hash<",      ", std::equal_to<",    ", std::default_delete<",
    };
    if (text[0] != ',')
        return 0;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        size_t length = strlen(defaults[i]);
        if (strncmp(text, defaults[i], length) == 0)
            return bracket_end(text, length - 1);
    }
    return 0;
}

// drop_defaults appends name without default arguments, and with `>>` for `> >`.
static void drop_defaults(const char *name, struct text *out)
{
    while (*name != 0) {
        size_t run = strcspn(name, ", "); // no default begins there, and no `> >`
        text_append(out, name, run);
        name += run;
        size_t skipped = match_default(name);
        if (skipped != 0) {
            name += skipped;
            continue;
        }
        if (*name == 0)
            return;
        if (name[0] != ' ' || name[1] != '>' || name[2] == '>')
            text_append(out, name, 1);
        name++;
    }
}

// alias_starts are the first characters of names that have an alias.
static const char alias_starts[] = "s(";

// match_alias is the length of a name at text that has a usual alias, and stores the
// alias.
static size_t match_alias(const char *text, const char **out)
{
    static const struct {
        const char *spelled;
        const char *said;
    } aliases[] = {
        { "std::__cxx11::basic_string<char>", "std::string" },
        { "std::basic_string<char>", "std::string" },
        { "std::__cxx11::basic_string<wchar_t>", "std::wstring" },
        { "std::basic_string_view<char>", "std::string_view" },
        { "std::basic_ostream<char>", "std::ostream" },
        { "std::basic_istream<char>", "std::istream" },
        { "std::__cxx11::", "std::" },
        { "std::__1::", "std::" },
        { "(anonymous namespace)::", "" },
    };
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        size_t length = strlen(aliases[i].spelled);
        if (strncmp(text, aliases[i].spelled, length) == 0) {
            *out = aliases[i].said;
            return length;
        }
    }
    return 0;
}

void readable_name(const char *function, struct text *out)
{
    // Nobody reads longer names, and some are built to be slow to process.
    enum { LONGEST = 4096 };
    struct text CH_CLEANUP(text_deinit) plain = { 0 };
    if (strlen(function) > LONGEST) {
        text_append_string(out, function);
        return;
    }
    drop_defaults(function, &plain);
    if (!text_ok(&plain) || plain.size == 0) {
        text_append_string(out, function);
        return;
    }
    for (const char *at = plain.bytes; *at != 0;) {
        const char *said = NULL;
        size_t length = match_alias(at, &said);
        if (length != 0) {
            text_append_string(out, said);
        } else {
            length = 1 + strcspn(at + 1, alias_starts);
            text_append(out, at, length);
        }
        at += length;
    }
}

// qualified_part finds the name between the return type and the parameters: the last
// word outside of brackets, up to the first parenthesis after it.
static void qualified_part(const char *name, size_t *out_start, size_t *out_end)
{
    size_t start = 0;
    size_t i = 0;
    // In names of Go, a receiver in parentheses follows the package: main.(*T).f.
    while (name[i] != 0 && (name[i] != '(' || (i != 0 && name[i - 1] == '.'))) {
        size_t close = name[i] == '<' ? bracket_end(name, i) : 0;
        if (name[i] == ' ')
            start = i + 1;
        i = close != 0 ? close : i + 1;
    }
    *out_start = start;
    *out_end = i;
}

// is_short_name is true for a name that has neither scope, arguments nor parameters.
static bool is_short_name(const char *function)
{
    return function[strcspn(function, " <({:")] == 0;
}

void readable_name_short(const char *function, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    size_t start = 0;
    size_t end = 0;
    if (is_short_name(function)) {
        text_append_string(out, function);
        return;
    }
    readable_name(function, &name);
    if (!text_ok(&name) || name.size == 0)
        return;
    // The names of operators and lambdas contain parentheses, spaces and brackets.
    if (strstr(name.bytes, "operator") == NULL && strchr(name.bytes, '{') == NULL)
        qualified_part(name.bytes, &start, &end);
    if (end > start)
        text_append(out, name.bytes + start, end - start);
    else
        text_append(out, name.bytes, name.size);
}

size_t readable_name_parameters(const char *name)
{
    size_t length = strlen(name);
    const char *last = strrchr(name, ')');
    int depth = 0;
    if (last == NULL)
        return length;
    for (size_t i = (size_t)(last - name) + 1; i-- > 0;) {
        depth += (name[i] == ')') - (name[i] == '(');
        if (depth == 0)
            return i != 0 ? i : length;
    }
    return length;
}
