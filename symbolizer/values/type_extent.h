// SPDX-License-Identifier: Apache-2.0
//
// Where elements are and how many there are: of an array, of a container that has them
// side by side, of a block of the heap that a pointer leads to.
#pragma once
#include "symbolizer/values/type_scalar.h"
#include "symbolizer/values/type_value.h"

struct type_extent {
    const char *kind; // "array", "vector", "block"
    uint64_t address; // of the first element
    uint64_t count;
    uint64_t each; // bytes of an element
};

// type_extent_of_object finds the elements of the object at place. False: it is no
// array and no such container, or what it says of itself is impossible.
bool type_extent_of_object(const struct type_value *how, const struct type_place *place,
                           struct type_extent *out);

// type_extent_of_block finds the elements of the type in glibc's block that begins at
// address. False: no block is proved to begin there.
bool type_extent_of_block(const struct type_value *how, uint32_t type, uint64_t address,
                          struct type_extent *out);
