// SPDX-License-Identifier: Apache-2.0
//
// The call stacks of a trace, as a tree: how often each was entered and how long its
// innermost function took.
//
// Users: `fdr stack`, and `fdr convert --format folded`.
#pragma once
#include "cli/fdr/fdr_names.h"
#include "cli/fdr/fdr_trace.h"
#include "cli/session/command.h"

// fdr_stack_fold prints each stack as a line "outer;inner TIME", TIME being what the
// innermost function took itself, in nanoseconds (in cycles where their length is
// unknown). It returns the exit code.
int fdr_stack_fold(struct fdr_trace *trace, struct fdr_names *names, bool by_thread);
