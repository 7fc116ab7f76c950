// SPDX-License-Identifier: Apache-2.0
//
// The style sheet of all pages: style.css, made part of the program by embed.cmake. One
// sheet serves light and dark and every width; pages refer to it with its version, so
// that browsers may cache it.
#pragma once
#include <stddef.h>

extern const unsigned char style_bytes[];
extern const size_t style_size;

// style_version changes whenever the style sheet does: it is part of the sheet's URL.
extern const char style_version[];
