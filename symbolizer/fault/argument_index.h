// SPDX-License-Identifier: Apache-2.0
//
// The index that explains an address: a variable with a number that is no index of an
// array, a container or a block of the heap, and by which the address is that far from
// the first element. Or the array that a number of bytes is too many for.
//
// Nothing is traced here: the numbers alone say so. They are of variables that are in
// scope, and of the members of objects that these are or point to.
#pragma once
#include "symbolizer/fault/argument_trace.h"
#include "symbolizer/values/type_scalar.h"
#include "symbolizer/values/type_value.h"

// A type_extent is where elements are and how many there are: of an array, of a
// container that has them side by side, of a block of the heap that a pointer leads to.
struct type_extent {
    const char *kind; // "array", "vector", "block"
    uint64_t address; // of the first element
    uint64_t count;
    uint64_t each; // bytes of an element
};

struct argument_index {
    struct text index; // as the source calls it
    struct text array;
    struct argument_variable variable; // whose name or member the index, or of the
                                       // nearest the array, is
    bool is_variable;                  // it is just the variable
    int64_t value;
    struct type_extent extent;
};

void argument_index_deinit(struct argument_index *index);

// argument_index_find finds the index that explains an access at address by the call of
// that index. False: none does, or more than one.
bool argument_index_find(struct argument_trace *trace, size_t call, uint64_t address,
                         struct argument_index *out);

// argument_index_find_array finds the array, container or block in which begin is, and
// which ends before address, of those that the call of that index has in scope. It sets
// out->array and out->extent. False: there is none, or more than one.
bool argument_index_find_array(struct argument_trace *trace, size_t call,
                               uint64_t begin, uint64_t address,
                               struct argument_index *out);

// argument_index_nearest tells beside which array, container or block of those that the
// innermost functions of the program have in scope the access of the crash is, as
// crash.nearest has it. NULL: none is near, or the kind of the crash says more.
json_t *argument_index_nearest(struct argument_trace *trace, const json_t *crash);
