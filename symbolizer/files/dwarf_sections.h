// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a debug file's sections, decompressed by libdw, as cursors: for the two
// parts of DWARF that are read here instead of by libdw, entries and line tables.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/cursor.h"

// dwarf_section gives the section of dwarf called name, such as `debug_line`; of a
// split file the `.dwo` one. If there is none, the cursor is empty.
struct cursor dwarf_section(Dwarf *dwarf, const char *name);

// dwarf_section_end gives the end of the section of entries that at points into, NULL
// if it points into none.
const uint8_t *dwarf_section_end(Dwarf *dwarf, const uint8_t *at);
