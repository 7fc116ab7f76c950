// SPDX-License-Identifier: Apache-2.0
//
// Where the other parts of this installation are, relative to the folder of this
// program, so that the build tree, any prefix and a moved folder all work.
//
// A part that is not in its place is not searched for elsewhere: parts of different
// versions do not fit together.
#pragma once
#include <limits.h>
#include <stdbool.h>

// installed_library writes the path of the handler's library; false: it is not there.
bool installed_library(char path[static PATH_MAX]);

// installed_agent writes the path of crashhook-agent; false: it is not there.
bool installed_agent(char path[static PATH_MAX]);
