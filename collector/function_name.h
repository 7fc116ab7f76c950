// SPDX-License-Identifier: Apache-2.0
//
// A function's name for reading: what the standard library's strings expand to is put
// back as its authors wrote it, and the parameters are told from the name, so that
// pages can show them more quietly. The report keeps the whole name; nothing else is
// left out.
#pragma once
#include <stddef.h>

#include "base/text.h"

// function_name_shorten appends name with std::string and its like spelled so; at most
// limit bytes of name are read.
void function_name_shorten(struct text *out, const char *name, size_t limit);

// function_name_parameters gives the offset of the parenthesis that opens name's
// parameters, or its length when there are none to be found.
size_t function_name_parameters(const char *name);
