// SPDX-License-Identifier: Apache-2.0
//
// The style sheet of all pages: style.css, made part of the program by embed.cmake.
// There is one for light and dark and for every width; pages name it by its version, so
// that browsers may keep it.
#pragma once
#include <stddef.h>

extern const unsigned char style_bytes[];
extern const size_t style_size;

// style_version changes whenever the style sheet does: part of its address.
extern const char style_version[];
