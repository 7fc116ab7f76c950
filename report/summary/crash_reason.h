// SPDX-License-Identifier: Apache-2.0
//
// The words for what a runtime or a compiler's check had to say: why std::terminate was
// called, which check for undefined behaviour failed, which C function was misused.
#pragma once
#include <stdbool.h>

#include "base/text.h"
#include "report/summary/crash_facts.h"

// crash_reason_words begins the sentence for a crash whose facts have a reason or a
// check that tells all of it. False: they have none.
bool crash_reason_words(const struct crash_facts *facts, enum crash_kind kind,
                        struct text *out);

// crash_reason_append adds, after the message of a library, what its check was made
// for.
void crash_reason_append(const struct crash_facts *facts, struct text *out);
