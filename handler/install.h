// SPDX-License-Identifier: Apache-2.0
//
// What the rest of the library asks of the installation.
//
// Threads get alternate stacks only once the handler is in place: a program that has
// switched it off pays for nothing.
#pragma once
#include <stdbool.h>

// install_done: the handler is in place.
bool install_done(void);
