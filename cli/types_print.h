// SPDX-License-Identifier: Apache-2.0
//
// One type, function or variable as `crashhook types dump` lists it, for people or as
// JSON. What has no name, an anonymous structure that is a member, is listed with what
// it is a member of; its offsets count from the outermost structure.
#pragma once
#include "base/text.h"
#include "symbolizer/types/type_table.h"

// types_print_json appends the type at index as an object.
void types_print_json(const struct type_table *table, uint32_t index, struct text *out);

// types_print_text appends the type at index as lines; nothing for one that is only
// another one's pointer, array, qualified form or signature.
void types_print_text(const struct type_table *table, uint32_t index, struct text *out);

// types_print_symbol_json appends a function or variable as an object.
void types_print_symbol_json(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out);

// types_print_symbol_text appends it as a line.
void types_print_symbol_text(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out);
