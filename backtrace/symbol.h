// SPDX-License-Identifier: Apache-2.0
//
// Symbols: what is at an address, and what follows from its name. They are created when
// a backtrace is symbolicated, when a symbolicated one is read, or by the program
// itself.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "crashhook/backtrace_symbols.h"

// symbol_create copies raw_name, name (NULL: the demangled raw_name) and the location's
// path (location may be NULL), and computes the flags. index is image's index in its
// list.
CH_CHECKED enum ch_status symbol_create(const struct crashhook_symbol *from,
                                        struct crashhook_symbol **out);

// symbol_judge sets the flags of a symbol with image and names.
void symbol_judge(struct crashhook_symbol *symbol);

// symbol_describe appends the symbol as the end of a line. raw: with its linker name.
void symbol_describe(const struct crashhook_symbol *symbol, bool raw, struct text *out);

// symbol_describe_location appends "path:line:column", or as much of it as is known.
void symbol_describe_location(const struct crashhook_source_location *location,
                              struct text *out);

// symbol_finish gives the text of line to the caller; NULL: no memory.
char *symbol_finish(struct text *line);
