// SPDX-License-Identifier: Apache-2.0
//
// What identifies people and can be checked: payment card numbers (Luhn), bank accounts
// (IBAN, by its check digits), e-mail addresses. Masked where CRASHHOOK_PII=no asks for
// it; a number without check digits, a name or an address of a street is not known.
#pragma once
#include <stdbool.h>

#include "base/text.h"

// people_mask appends string with those replaced by `***`.
void people_mask(const char *string, struct text *out);

// people_have returns true if people_mask would change string.
bool people_have(const char *string);
