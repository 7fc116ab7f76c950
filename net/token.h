// SPDX-License-Identifier: Apache-2.0
//
// The bearer token of a collector, from CRASHHOOK_TOKEN_FILE or CRASHHOOK_TOKEN. A file
// that others could have written is refused: whoever writes it chooses the account that
// reports are sent to.
#pragma once
#include "base/status.h"
#include "base/text.h"

// token_read appends the token without white space around it: file takes precedence
// over value; both may be NULL, and then the token is empty. On failure why says what
// is wrong.
CH_CHECKED enum ch_status token_read(const char *file, const char *value,
                                     struct text *out, const char **out_why);
