// SPDX-License-Identifier: Apache-2.0
//
// The compressed streams of the HotSpot virtual machine: its numbers (UNSIGNED5,
// share/utilities/unsigned5.hpp and, until JDK 19, share/code/compressedStream.hpp) and
// a method's table from bytecodes to source lines (CompressedLineNumberReadStream).
//
// A number is one to five bytes, each worth 64 times the one before; one below the
// first 64 of the largest values of a byte ends it. From JDK 20 on no byte is 0.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// java_lines_number reads one number; excluded is how many of a byte's values are not
// used: 0, or 1 from JDK 20 on.
uint32_t java_lines_number(struct cursor *c, uint32_t excluded);

// java_lines_find gives the line of the bytecode at offset bci. CH_ERR_NOT_FOUND: the
// table gives it none. CH_ERR_TRUNCATED: it does not end.
CH_CHECKED enum ch_status java_lines_find(const void *bytes, size_t size,
                                          uint32_t excluded, int32_t bci,
                                          uint32_t *out);
