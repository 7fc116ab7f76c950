// SPDX-License-Identifier: Apache-2.0
//
// Words for a shell, in commands that people are to run. Whatever a word holds, a shell
// that runs the command takes it as one word and expands nothing.
#pragma once
#include "base/text.h"

// shell_word_quote appends word in single quotes.
void shell_word_quote(const char *word, struct text *out);
