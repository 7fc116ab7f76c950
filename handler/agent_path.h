// SPDX-License-Identifier: Apache-2.0
//
// Where the agent is, for a program that does not say: beside the library, then in
// libexec of the tree that the library lies in, then where it was built to be
// installed.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// agent_path_find writes the absolute path of the agent to path, which it always fills:
// when there is no agent now, with the place where an installation puts it.
void agent_path_find(char *path, size_t size);

// agent_path_absolute writes given to path, completed with the working directory when
// it does not start with a slash. false: it does not fit.
bool agent_path_absolute(const char *given, char *path, size_t size);

// agent_path_origin writes the path of the file that holds this code: the shared
// library, or, for the static one, the program. false: it cannot be told.
bool agent_path_origin(char *path, size_t size);
