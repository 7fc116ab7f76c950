// SPDX-License-Identifier: Apache-2.0
//
// A backtrace as lines of text, innermost frame first, as debuggers of native programs
// print it: for intakes that take stacks only as strings.
//
// #0  0x000055d0c0de1139 in cart_total at /src/cart.c:41:5 from /srv/shop
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/text.h"

// stack_text_write appends the thread's frames, at most limit_bytes of them and then a
// line which says that there are more. Control characters become `?`.
void stack_text_write(const json_t *report, const json_t *thread, size_t limit_bytes,
                      struct text *out);
