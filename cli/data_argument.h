// SPDX-License-Identifier: Apache-2.0
//
// The argument HEX|FILE|- of the commands that decode small binary formats.
//
// Hex digits alone, even in number, are the data itself. Anything else is a file, whose
// content is hex text when it starts with ASCII '0' (the formats start with a byte of
// 00 to 02) and the data itself otherwise.
#pragma once
#include "base/status.h"
#include "base/text.h"

// data_argument_read appends the data that argument names to out. Where it fails it
// has said why.
CH_CHECKED enum ch_status data_argument_read(const char *argument, struct text *out);
