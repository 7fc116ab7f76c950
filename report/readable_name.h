// SPDX-License-Identifier: Apache-2.0
//
// Function names as people say them: a demangled C++ name spells out every default
// argument of every template, and what matters drowns in it.
//
// For display alone: reports, grouping and full listings keep the whole name.
// Users: cli, collector.
#pragma once
#include <stddef.h>

#include "base/text.h"

// readable_name appends function without the default arguments of the standard
// library's templates (allocators, comparisons, traits), with its usual names
// (std::string) and without inner namespaces of implementations (std::__cxx11).
void readable_name(const char *function, struct text *out);

// readable_name_short appends no more than its qualified name: no parameters, no type
// of what it returns.
void readable_name_short(const char *function, struct text *out);

// readable_name_parameters is the offset of the parenthesis that opens name's
// parameters, or its length where there are none to be found.
size_t readable_name_parameters(const char *name);
