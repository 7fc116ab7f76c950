// SPDX-License-Identifier: Apache-2.0
//
// JSON that is printed as it is made, for listings too long to be built first.
//
// It is for the commands alone, which print to standard output; whoever prints keeps
// the commas and brackets right. Nothing is allocated, and there is no limit.
#pragma once
#include <stddef.h>

// json_print_string prints size bytes as a JSON string. Bytes that are not UTF-8, which
// Linux paths may hold, become U+FFFD.
void json_print_string(const char *bytes, size_t size);
