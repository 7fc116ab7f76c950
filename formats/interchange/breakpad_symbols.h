// SPDX-License-Identifier: Apache-2.0
//
// Breakpad's symbol files (.sym, as dump_syms writes them) as ELF files, so that
// everything that reads debug files reads them.
//
// Such a file is text with a record a line. FUNC and PUBLIC become .symtab, STACK CFI
// becomes .debug_frame: its rules are in postfix notation and become DWARF's rules, or
// expressions. A rule that cannot be said so leaves its register undefined. Lines and
// inlined calls are left out. The text is untrusted. Users: crashhook minidump,
// crashhook symbols upload.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

// breakpad_symbols_are_of returns true if text begins as the file of a module of Linux
// with that identity: its GUID and age in hexadecimal digits.
bool breakpad_symbols_are_of(struct cursor text, const char *identity);

// breakpad_symbols_build reads of which build of which machine (enum elf_machine) the
// symbols are: dump_syms writes the build ID as INFO CODE_ID. false: it is not there.
enum { BREAKPAD_BUILD_ID_MAX = 64 };
bool breakpad_symbols_build(struct cursor text, uint16_t *out_machine,
                            uint8_t out_build_id[BREAKPAD_BUILD_ID_MAX],
                            size_t *out_size);

// breakpad_symbols_to_elf appends an ELF file of that build ID for machine (enum
// elf_machine). Addresses in it are relative to the module's base. CH_ERR_MALFORMED:
// the text has neither a function nor a rule.
CH_CHECKED enum ch_status breakpad_symbols_to_elf(struct cursor text, uint16_t machine,
                                                  const uint8_t *build_id,
                                                  size_t build_id_size,
                                                  struct text *out);
