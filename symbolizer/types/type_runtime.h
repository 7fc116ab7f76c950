// SPDX-License-Identifier: Apache-2.0
//
// Types that are found by the program's symbols: by the address of Go's description of
// a type, or by that of a function of the type, or that a template of C++ made for it.
#pragma once
#include <elfutils/libdw.h>

#include "symbolizer/types/type_dwarf.h"

// type_runtime_of_go gives the type that Go describes at vaddr, or TYPE_UNKNOWN_INDEX.
uint32_t type_runtime_of_go(struct type_dwarf *types, uint64_t vaddr);

// A type_runtime_class is the class template of which a function is a member.
struct type_runtime_class {
    const char *name;
    Dwarf_Die die;
};

// type_runtime_class_of finds the class of a function. False: it is a member of none,
// or its code may be that of several functions.
bool type_runtime_class_of(const struct type_dwarf *types, const Dwarf_Die *function,
                           struct type_runtime_class *out);

// type_runtime_argument gives the type that is the argument of the class at index, or
// TYPE_UNKNOWN_INDEX.
uint32_t type_runtime_argument(struct type_dwarf *types,
                               const struct type_runtime_class *class, uint32_t index);

// type_runtime_constant finds the value of a static member of the class or of its
// bases. False: none of them has it.
bool type_runtime_constant(const struct type_runtime_class *class, const char *name,
                           uint64_t *out);

// A type_runtime_functions finds the function at a vaddr.
struct type_runtime_functions {
    bool (*find)(void *context, uint64_t vaddr, Dwarf_Die *out);
    void *context;
};

// type_runtime_definition finds the definition of a class that its unit only declares:
// gcc and clang write that of a class with virtual functions in the unit that defines
// the first of them. False: no unit of this file has it.
bool type_runtime_definition(const struct type_dwarf *types,
                             const struct type_runtime_functions *functions,
                             const Dwarf_Die *declared, Dwarf_Die *out);

// type_runtime_line gives the line that declares a type; 0: it is not known.
int type_runtime_line(const struct type_dwarf *types, uint32_t index);
