// SPDX-License-Identifier: Apache-2.0
#include "collector/function_name.h"

#include <string.h>

#define TRAITS(character)                                                              \
    "<" character ", std::char_traits<" character ">, std::allocator<" character "> >"
#define VIEW_TRAITS(character) "<" character ", std::char_traits<" character "> >"

static const struct {
    const char *expanded;
    const char *written;
} spellings[] = {
    { "std::__cxx11::basic_string" TRAITS("char"), "std::string" },
    { "std::basic_string" TRAITS("char"), "std::string" },
    { "std::__cxx11::basic_string" TRAITS("wchar_t"), "std::wstring" },
    { "std::basic_string_view" VIEW_TRAITS("char"), "std::string_view" },
    { "std::basic_ostream" VIEW_TRAITS("char"), "std::ostream" },
    { "std::basic_istream" VIEW_TRAITS("char"), "std::istream" },
    { "std::__cxx11::", "std::" },
};

// find_spelling gives the index of the spelling that at begins with, or -1.
static int find_spelling(const char *at)
{
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (strncmp(at, spellings[i].expanded, strlen(spellings[i].expanded)) == 0)
            return (int)i;
    }
    return -1;
}

void function_name_shorten(struct text *out, const char *name, size_t limit)
{
    const char *end = name + strnlen(name, limit);
    while (name < end) {
        int spelling = *name == 's' ? find_spelling(name) : -1;
        if (spelling < 0) {
            text_append(out, name++, 1);
            continue;
        }
        text_append_string(out, spellings[spelling].written);
        name += strlen(spellings[spelling].expanded);
    }
}

size_t function_name_parameters(const char *name)
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
