// SPDX-License-Identifier: Apache-2.0
#include "shared/signals.h"

#define SIGNAL_WORD(name, role, text) [SIG##name] = #name,

const char signal_words[SIGNALS_END][SIGNAL_WORD_SIZE] = { SIGNALS(SIGNAL_WORD) };
