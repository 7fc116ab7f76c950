// SPDX-License-Identifier: Apache-2.0
//
// The script that `crashhook debug` has gdb run, debug_script.py, as it was built in.
// User: debug.c.
#pragma once
#include <stddef.h>

extern const unsigned char debug_script_bytes[];
extern const size_t debug_script_size;
extern const char debug_script_version[];
