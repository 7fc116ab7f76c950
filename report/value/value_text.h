// SPDX-License-Identifier: Apache-2.0
//
// A value of a report in one line, for people: `{id = 42, name = "alice"}`,
// `[1, 2, 3, ...] of 10`, `{"one": 1, "two": 2}`, `0x55cc117fd10 (2 owners) {...}`.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/text.h"

// value_text_append appends a value: scalars as they are, of larger structures the
// first members, of containers what they hold. Control characters are not escaped.
void value_text_append(const json_t *value, struct text *out);

// value_text_is_scalar returns true if a value is neither an object nor an array.
bool value_text_is_scalar(const json_t *value);

// value_text_pointee is what a pointer that was followed points to, or NULL; it is NULL
// for any other value.
const json_t *value_text_pointee(const json_t *value);

// value_text_reason returns why a variable of a report has no value, in words if there
// are some for it; NULL: the report does not say.
const char *value_text_reason(const json_t *variable);

// value_text_scope gives how deep in the function the block of a variable is; 0: it is
// no local variable of an inner block.
int64_t value_text_scope(const json_t *variable);

// value_text_is_known returns true if a variable has a value, now or when the function
// was called.
bool value_text_is_known(const json_t *variable);

// value_text_is_certain returns true if the value now is all that there is to say of a
// variable: it was the same when the function was called, and it is no guess.
bool value_text_is_certain(const json_t *variable);

// value_text_append_name appends the name of a variable, or the number of an argument
// without one: `#2`.
void value_text_append_name(const json_t *variable, struct text *out);

// value_text_append_state appends what every view shows after the name of a variable:
// `3 (2 when called)`, `5 (likely)`, `? (the compiler left it out)`.
void value_text_append_state(const json_t *variable, struct text *out);

// value_text_is_whole returns true if a line shows all that there is of a value.
bool value_text_is_whole(const json_t *value);
