// SPDX-License-Identifier: Apache-2.0
//
// One sentence that tells a person what happened, and the longer text that belongs to
// it.
#pragma once
#include "base/text.h"
#include "report/summary/crash_facts.h"

// crash_summary appends the sentence for crash.summary.
void crash_summary(const struct crash_facts *facts, struct text *out);

// crash_message appends the text for crash.message, or nothing if there is none.
void crash_message(const struct crash_facts *facts, struct text *out);
