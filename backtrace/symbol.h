// SPDX-License-Identifier: Apache-2.0
//
// Symbols: what is at an address, with what follows from its name. Made by naming a
// backtrace, by reading one that was named, or by the program itself.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "crashhook/backtrace_symbols.h"

// symbol_create copies raw_name, name (NULL: what raw_name demangles to) and the
// location's path (location may be NULL), and works the flags out. index is image's in
// its list.
CH_CHECKED enum ch_status symbol_create(const struct crashhook_symbol *from,
                                        struct crashhook_symbol **out);

// symbol_describe appends the symbol as a line's end. raw: by its linker name.
void symbol_describe(const struct crashhook_symbol *symbol, bool raw, struct text *out);

// symbol_describe_location appends "path:line:column", or less.
void symbol_describe_location(const struct crashhook_source_location *location,
                              struct text *out);

// symbol_finish gives the text of line to the caller; NULL: no memory.
char *symbol_finish(struct text *line);
