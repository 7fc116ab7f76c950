// SPDX-License-Identifier: Apache-2.0
//
// Function names as people say them: a demangled C++ name spells out every default
// argument of every template, which hides what matters.
//
// For display only: reports, grouping and full listings keep the whole name. Users:
// cli, collector.
#pragma once
#include <stddef.h>

#include "base/text.h"

// readable_name appends function without the default arguments of the standard
// library's templates (allocators, comparisons, traits), with the usual names of its
// types (std::string) and without its inner namespaces (std::__cxx11).
void readable_name(const char *function, struct text *out);

// readable_name_short appends only the qualified name: no parameters, no return type.
void readable_name_short(const char *function, struct text *out);

// readable_name_parameters is the offset of the parenthesis that opens name's
// parameters, or name's length if there are none.
size_t readable_name_parameters(const char *name);
