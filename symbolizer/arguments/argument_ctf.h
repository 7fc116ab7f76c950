// SPDX-License-Identifier: Apache-2.0
//
// Arguments without debug information: the signature comes from CTF, the locations from
// the ABI, and the values are given only where the code proves that they are still
// there.
#pragma once
#include "symbolizer/arguments/argument_list.h"

// argument_ctf_list lists the arguments of call index. False: CTF has no signature of
// its function, or the function has no name.
bool argument_ctf_list(const struct argument_stack *stack, size_t index,
                       struct argument_list *out);
