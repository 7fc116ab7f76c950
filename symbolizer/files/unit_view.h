// SPDX-License-Identifier: Apache-2.0
//
// One unit of a debug file, for libdw alone. Before libdw gives a unit, it reads the
// headers of all units before it, each of which is in another page of the file: of a
// Java virtual machine's 2,142 units, that takes longer than the values of a report.
// For a view, all that is before the unit is one unit to libdw, of which nothing can be
// read.
//
// Entries have the addresses and offsets that they have in the file. Whatever refers to
// entries of other units finds nothing right in a view: who uses one checks that the
// unit refers to itself alone (die_scan.h).
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbolizer/files/debug_elf.h"

// unit_view_open opens a view of the unit whose header is at that offset of file's
// .debug_info, and gives the unit's entry. The caller ends the view (dwarf_end) before
// it closes file. NULL: there is none, as of a section that libdw has not decompressed.
Dwarf *unit_view_open(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out);
