// SPDX-License-Identifier: Apache-2.0
//
// Where the other parts of this installation are: found from where this program lies,
// so that the build tree, any prefix and a moved folder work alike.
//
// What is not where it should be is not searched for elsewhere: parts of different
// versions do not mix.
#pragma once
#include <limits.h>
#include <stdbool.h>

// installed_library writes the path of the handler's library; false: it is not there.
bool installed_library(char path[static PATH_MAX]);

// installed_agent writes the path of crashhook-agent; false: it is not there.
bool installed_agent(char path[static PATH_MAX]);
