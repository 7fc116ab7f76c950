// SPDX-License-Identifier: Apache-2.0
//
// Where the agent is, for a program that does not say: beside the library, else in
// libexec of the tree that the library is in, else at the configured installation path.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// agent_path_find writes the absolute path of the agent to path, always: when no agent
// exists, the path that an installation gives it.
void agent_path_find(char *path, size_t size);

// agent_path_absolute writes given to path, prefixed with the working directory when it
// is relative. False: it does not fit.
bool agent_path_absolute(const char *given, char *path, size_t size);

// agent_path_origin writes the path of the file that contains this code: the shared
// library or, for the static one, the program. False: it cannot be determined.
bool agent_path_origin(char *path, size_t size);
