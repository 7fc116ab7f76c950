// SPDX-License-Identifier: Apache-2.0
//
// `crashhook types diff`: the declarations of two files that differ.
//
// Declarations are compared as `types dump` prints them, by kind and name. Where a file
// has several of one name, all of them count. There is no limit beyond those of a
// table.
#pragma once
#include <stdbool.h>

#include "symbolizer/types/type_table.h"

// types_diff_print prints what was changed, removed and added, and returns the exit
// code: 1 if a structure, union, enum, typedef, function or variable of before is
// another one in after, or is missing there.
int types_diff_print(const struct type_table *before, const struct type_table *after,
                     bool json);
