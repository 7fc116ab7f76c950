// SPDX-License-Identifier: Apache-2.0
//
// What the mangled form of a Swift name says by itself: whether it is one, and whether
// it is of a thunk.
//
// Only prefixes and suffixes are read; demangling takes Swift's own library
// (symbolizer/swift_names.h).
#pragma once
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// swift_symbol_is_mangled returns true if name is one that Swift mangled.
static inline bool swift_symbol_is_mangled(const char *name)
{
    static const char *const prefixes[] = {
        "$s", "$S", "$e", "_$s", "_$S", "_$e", "_T0"
    };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
            name[strlen(prefixes[i])] != 0)
            return true;
    }
    return false;
}

// swift_symbol_length is the length of a mangled name without what marks a part of an
// async function: TQ or TY, a number and an underscore.
static inline size_t swift_symbol_length(const char *name)
{
    size_t length = strlen(name);
    size_t at = length;
    if (at == 0 || name[at - 1] != '_')
        return length;
    for (at--; at != 0 && isdigit((unsigned char)name[at - 1]);)
        at--;
    bool is_part =
        at >= 2 && name[at - 2] == 'T' && (name[at - 1] == 'Q' || name[at - 1] == 'Y');
    return is_part ? at - 2 : length;
}

// swift_symbol_is_thunk returns true if name is a function that the compiler made to
// call another one: a forwarder of a closure, of a protocol's witness or of
// Objective-C, or a change of calling convention. Swift's own backtraces hide the same.
static inline bool swift_symbol_is_thunk(const char *name)
{
    size_t length = swift_symbol_length(name);
    return swift_symbol_is_mangled(name) && length > 2 && name[length - 2] == 'T' &&
           strchr("AaoORrW", name[length - 1]) != NULL;
}
