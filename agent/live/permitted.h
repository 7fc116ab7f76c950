// SPDX-License-Identifier: Apache-2.0
//
// What a seccomp filter lets the agent do. The agent inherits the filter of the program
// that started it; a call that the filter answers with a signal would end the report,
// where the same call refused with an error only has the next way tried.So where there
// is a filter a child makes such a call first.
#pragma once
#include <stdbool.h>

enum permitted_call { PERMITTED_PTRACE, PERMITTED_READV };

// permitted_expect_filter says that there may be one. Asking for it would be another
// call.
void permitted_expect_filter(void);

// permitted says whether a call may be made: it may still fail, but does not kill.
bool permitted(enum permitted_call call);
