// SPDX-License-Identifier: Apache-2.0
//
// The argument HEX|FILE|- of the commands that decode small binary formats.
//
// An even number of hex digits is the data itself. Anything else is a file, whose
// content is hex text if it starts with ASCII '0' (the formats start with a byte of 00
// to 02) and the data itself otherwise.
#pragma once
#include "base/status.h"
#include "base/text.h"

// data_argument_read appends the data that argument names to out. It reports a failure
// itself.
CH_CHECKED enum ch_status data_argument_read(const char *argument, struct text *out);
