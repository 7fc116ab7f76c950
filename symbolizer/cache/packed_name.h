// SPDX-License-Identifier: Apache-2.0
//
// A packed name is a long name without its repetitions: names of C++ templates say the
// same types many times over, so most of one is a copy of what stands further to its
// left.
//
// It is made for reading: few, long copies, so that unpacking costs little more than
// copying the name. The symbol cache's format describes it
// (docs/formats/symbol-cache.md).
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "base/text.h"

// PACKED_NAME_MIN is the length from which names are worth packing, PACKED_NAME_MAX is
// that of the longest ones that can be.
enum { PACKED_NAME_MIN = 96, PACKED_NAME_MAX = 65535 };

// packed_name_write appends the packed form of the size bytes at name, of a size within
// the limits.
void packed_name_write(const char *name, size_t size, struct text *out);

// packed_name_read unpacks a name of size bytes to out, which has room for them and a
// NUL. False: what c has is no packed name of that size.
CH_CHECKED bool packed_name_read(struct cursor *c, char *out, size_t size);
