// SPDX-License-Identifier: Apache-2.0
//
// The bearer token of a collector, from CRASHHOOK_TOKEN_FILE or CRASHHOOK_TOKEN. A file
// that somebody else could have written is refused: it decides what a report is sent
// under.
#pragma once
#include "base/status.h"
#include "base/text.h"

// token_read appends the token, without the white space around it: file wins over
// value, both may be NULL, and then it is empty. On failure why says what is wrong with
// it.
CH_CHECKED enum ch_status token_read(const char *file, const char *value,
                                     struct text *out, const char **out_why);
