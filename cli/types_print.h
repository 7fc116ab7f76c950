// SPDX-License-Identifier: Apache-2.0
//
// One type, function or variable as `crashhook types dump` lists it, as text or as
// JSON. An anonymous structure that is a member is listed with the structure that
// contains it; its offsets count from the outermost structure.
#pragma once
#include "base/text.h"
#include "symbolizer/types/type_image.h"
#include "symbolizer/types/type_table.h"

// types_print_headers_json appends what the headers of a file say: an array of one
// object for each dictionary of CTF, or for the section of BTF.
void types_print_headers_json(const struct type_bytes *file, enum type_source source,
                              struct text *out);

// types_print_headers_text appends the same as lines.
void types_print_headers_text(const struct type_bytes *file, enum type_source source,
                              struct text *out);

// types_print_json appends the type at index as an object.
void types_print_json(const struct type_table *table, uint32_t index, struct text *out);

// types_print_text appends the type at index as lines; nothing for a type that is only
// a pointer to, an array of, a qualified form or a signature of others.
void types_print_text(const struct type_table *table, uint32_t index, struct text *out);

// types_print_kind appends the name and size of a type of any kind as a line.
void types_print_kind(const struct type_table *table, uint32_t index, struct text *out);

// types_print_symbol_json appends a function or variable as an object.
void types_print_symbol_json(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out);

// types_print_symbol_text appends a function or variable as a line.
void types_print_symbol_text(const struct type_table *table,
                             const struct type_symbol *symbol, struct text *out);
