// SPDX-License-Identifier: Apache-2.0
//
// JSON that is printed as it is made, for listings too long to be built in memory.
//
// It is only for commands, which print to standard output; the caller is responsible
// for commas and brackets. Nothing is allocated, and there is no limit.
#pragma once
#include <stddef.h>

// json_print_string prints size bytes as a JSON string. Bytes that are not UTF-8, which
// Linux paths may hold, become U+FFFD.
void json_print_string(const char *bytes, size_t size);
