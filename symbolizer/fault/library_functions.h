// SPDX-License-Identifier: Apache-2.0
//
// Functions of the C and C++ libraries that fail where a pointer that they were passed
// is bad, and what that pointer is to them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/arguments/argument_image.h"

enum { LIBRARY_POINTERS = 6 }; // arguments in registers

// A library_function is one of them.
struct library_function {
    const char *name;                    // of a symbol; of C++ the scope and the name
    const char *roles[LIBRARY_POINTERS]; // "source" of each pointer; NULL: it is none
    bool exact;  // it accesses what a pointer leads to at its begin first
    bool begins; // it does so where a register alone is the address that it accesses
    uint64_t before; // it may read so many bytes before the pointer, as free does
};

// library_functions_find finds the function with the name that a caller imports; NULL:
// none is known.
const struct library_function *library_functions_find(const char *name);

// library_functions_find_scoped finds the function of C++ by its name with its scope
// and parameters, as a frame has it.
const struct library_function *library_functions_find_scoped(const char *name);

// library_functions_length gives the number of the argument that says how many bytes
// the function accesses; negative: none does.
int library_functions_length(const struct library_function *function);

// library_functions_frees returns true if the function takes back a block of the heap.
bool library_functions_frees(const struct library_function *function);

// library_functions_import_of_slot gives the name of the function whose address the
// slot at vaddr has; NULL: it is no such slot.
const char *library_functions_import_of_slot(const struct argument_image *image,
                                             uint64_t vaddr);

// library_functions_slot_of_stub gives the vaddr of the slot that the stub at vaddr
// jumps through, or 0 if there is no stub.
uint64_t library_functions_slot_of_stub(const struct argument_image *image,
                                        uint64_t vaddr);
