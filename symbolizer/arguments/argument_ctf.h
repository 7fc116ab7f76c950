// SPDX-License-Identifier: Apache-2.0
//
// Arguments without debug information: the signature from CTF, the places from the
// machine's convention, and the values only where the code proves that they are still
// there.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// argument_ctf_list lists the arguments of call number index. False: CTF has no
// signature of its function, or it has no name.
bool argument_ctf_list(const struct argument_stack *stack, size_t index,
                       struct argument_list *out);
