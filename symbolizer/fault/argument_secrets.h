// SPDX-License-Identifier: Apache-2.0
//
// Secrets that go by several names: `password` of one function is `text` of the one
// that it is passed to. Where one name is that of a secret, the text is masked under
// all of them.
#pragma once
#include <jansson.h>

// argument_secrets_mask masks in all, a result of argument_report_all, every text whose
// address a pointer with the name of a secret has too.
void argument_secrets_mask(json_t *all);
