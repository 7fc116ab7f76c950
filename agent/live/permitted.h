// SPDX-License-Identifier: Apache-2.0
//
// What a seccomp filter lets the agent do. The agent inherits the filter of the program
// that started it. A call that the filter answers with a signal would end the report,
// while one refused with an error only makes the agent try another way. So, where there
// is a filter, a child tries such a call first.
#pragma once
#include <stdbool.h>

enum permitted_call { PERMITTED_PTRACE, PERMITTED_READV };

// permitted_expect_filter records that there may be a filter. Querying for one would
// itself be a call to be filtered.
void permitted_expect_filter(void);

// permitted_all returns true if no filter is expected: everything may be called.
bool permitted_all(void);

// permitted returns true if a call may be made: it may still fail, but does not kill.
bool permitted(enum permitted_call call);
