// SPDX-License-Identifier: Apache-2.0
//
// What AddressSanitizer reported before it ended the program, out of the text that the
// handler kept of it: which error, at what address, by what access. The rest of its
// report, backtraces and shadow bytes, is for its own readers.
#pragma once
#include "agent/abort_message.h"
#include "base/memory_reader.h"

// sanitizer_words_read reads the text at place, 0: there is none, and writes the two
// lines of it that say what happened as one. CH_ERR_NOT_FOUND: nothing was reported.
CH_CHECKED enum ch_status sanitizer_words_read(const struct memory_reader *reader,
                                               uint64_t place,
                                               char out[static ABORT_MESSAGE_MAX]);
