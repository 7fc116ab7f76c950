// SPDX-License-Identifier: Apache-2.0
//
// What AddressSanitizer reported before it ended the program, from the copy of its text
// that the handler kept: which error, at what address, by what access. The rest of its
// report, backtraces and shadow bytes, is left to its own readers.
#pragma once
#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"

// sanitizer_words_read reads the text at place (0: none) and writes its two lines that
// say what happened as one. CH_ERR_NOT_FOUND: nothing was reported.
CH_CHECKED enum ch_status sanitizer_words_read(const struct memory_reader *reader,
                                               uint64_t place,
                                               char out[static ABORT_MESSAGE_MAX]);
