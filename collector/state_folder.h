// SPDX-License-Identifier: Apache-2.0
//
// Where a collector keeps what nobody named a place for: in /var/lib for root, else in
// the user's folder for lasting state (XDG Base Directory Specification). Only main
// asks.
#pragma once
#include <stdbool.h>

enum { STATE_PATH_SIZE = 4096 };

// state_default_store writes the name of a SQLite store in the folder for lasting
// state, and makes missing folders. False, here and below: there is no such folder.
bool state_default_store(char out[STATE_PATH_SIZE]);

// state_default_symbols writes the path of a folder beside the store's file, or, where
// the store is not a file, in the folder for lasting state.
bool state_default_symbols(const char *store, char out[STATE_PATH_SIZE]);
