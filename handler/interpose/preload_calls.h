// SPDX-License-Identifier: Apache-2.0
//
// LD_PRELOAD for the programs that this one executes: our libraries are cut out of it,
// in place, where they would do harm.
#pragma once
#pragma GCC visibility push(hidden)

// preload_leave_out cuts them out.
void preload_leave_out(void);

// preload_after_root does so where they are not to be found any more after a call that
// gives the process another root, and returns the call's result.
long preload_after_root(long result);

#pragma GCC visibility pop
