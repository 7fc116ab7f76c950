// SPDX-License-Identifier: Apache-2.0
//
// The names of types as libctf spells them: `const char *`, `struct session`, `int (*)
// (int, ...)` for a function, `struct ` for one without a tag.
//
// A pointer to a function has two stars, `void (*)(*) (int)`: libctf writes it so, and
// reports and listings are compared with what other tools print from CTF.
#pragma once
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "symbolizer/types/type_table.h"

// type_name appends the name of the type at index to out. CH_ERR_MALFORMED: it is
// infinite, or a part that needs a name has none. CH_ERR_LIMIT: it is longer than any
// real name.
CH_CHECKED enum ch_status type_name(const struct type_table *table, uint32_t index,
                                    struct text *out);
