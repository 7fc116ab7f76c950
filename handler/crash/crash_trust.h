// SPDX-License-Identifier: Apache-2.0
//
// Whether a file may be executed as the agent: used in a crash before that, and by
// install.c for the path that a variable gives.
#pragma once
#include <stdbool.h>

// crash_trusts returns true if nobody but root and our user can change the file at
// path, which is absolute, or a folder that leads to it. A file that is missing is
// trusted.
#pragma GCC visibility push(hidden)
bool crash_trusts(const char *path);

// crash_distrusted is the path of the agent that was not executed; NULL: none was.
extern const char *crash_distrusted;
#pragma GCC visibility pop
