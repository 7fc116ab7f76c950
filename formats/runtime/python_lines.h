// SPDX-License-Identifier: Apache-2.0
//
// CPython's tables from an instruction's offset to its source line, in the three forms
// that they have had: until 3.9, of 3.10 (PEP 626), of 3.11 and later. CPython's
// sources describe them in its folder Objects: lnotab_notes.txt, and of the last also a
// page on locations.
//
// The table is read once from its start to the instruction. Bytes that contradict the
// format end the search; nothing is read past the table's end.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum python_lines { PYTHON_LINES_LNOTAB, PYTHON_LINES_310, PYTHON_LINES_311 };

// python_lines_find gives the line of the instruction at offset, in bytes, of code that
// begins on first_line; a negative offset is before the first instruction.
// CH_ERR_NOT_FOUND: the table gives it no line. CH_ERR_MALFORMED: it is damaged.
CH_CHECKED enum ch_status python_lines_find(enum python_lines form, const void *bytes,
                                            size_t size, uint32_t first_line,
                                            int64_t offset, uint32_t *out);
