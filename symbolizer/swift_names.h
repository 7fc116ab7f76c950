// SPDX-License-Identifier: Apache-2.0
//
// Swift's names, demangled by the library of an installed Swift: the language's own
// demangler is the only complete one.
//
// The library is loaded in a guarded child without privileges, and only from places
// that nobody but root can write: one of the crashed user's could show anything, or do
// anything with the rights of whoever reads a report. Where there is none, names stay
// mangled (swift_symbol_is_mangled).
#pragma once
#include <jansson.h>

#include "symbolizer/search/debug_search.h"

// swift_names_apply demangles the functions of report's frames.
void swift_names_apply(json_t *report, const struct symbolizer_options *options);
