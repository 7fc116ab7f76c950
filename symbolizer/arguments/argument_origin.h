// SPDX-License-Identifier: Apache-2.0
//
// Which function or variable an entry of debug information is of: entries of inlined
// calls and of copies refer to the one that they are instances of.
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>

// argument_origin_refer follows a reference of die, its attribute name; false: it has
// none.
bool argument_origin_refer(Dwarf_Die *die, unsigned name, Dwarf_Die *out);

// argument_origin_of gives the entry that die is an instance of, or die if it is none.
Dwarf_Die argument_origin_of(const Dwarf_Die *die);

// argument_origin_location gives the attribute of die, or of what it is an instance of,
// that says where something is. False: there is none.
bool argument_origin_location(Dwarf_Die *die, unsigned name, Dwarf_Attribute *out);

// argument_origin_name gives the linker's name of an entry's function, else its name in
// the source; NULL: it has none.
const char *argument_origin_name(Dwarf_Die *die);

// argument_origin_is_external returns true if other units see the entry's function.
bool argument_origin_is_external(Dwarf_Die *die);

// argument_origin_is returns true if origin is the entry of function: itself, the entry
// that it is an instance of, or its declaration in another unit.
bool argument_origin_is(Dwarf_Die *origin, Dwarf_Die *function);
