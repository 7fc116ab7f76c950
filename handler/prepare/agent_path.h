// SPDX-License-Identifier: Apache-2.0
//
// Where the agent is, for a program that does not say: the places of
// shared/agent_places.h, from the folder of the library or the program.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

// agent_path_folder writes the path of the folder that the agent is looked for from,
// and gives its length, with the slash at its end. 0: it is not known.
size_t agent_path_folder(char *path, size_t size);

// agent_paths_write writes the paths at which the agent may be, in the order in which
// they are tried, each with its terminator; agent_paths_bytes says how many bytes that
// are at most. Whether it is there is not looked up: most programs never need it.
void agent_paths_write(char *to, const char *folder, size_t length);
size_t agent_paths_bytes(size_t length);

// agent_path_absolute writes given to path, prefixed with the working directory when it
// is relative. False: it does not fit.
bool agent_path_absolute(const char *given, char *path, size_t size);

// agent_path_origin writes the path of the file that contains this code: the shared
// library or, for the static one, the program. False: it cannot be determined.
bool agent_path_origin(char *path, size_t size);

#pragma GCC visibility pop
