// SPDX-License-Identifier: Apache-2.0
//
// What a Rust program said when it panicked, where its abort has left it: the standard
// library puts the message together on the stack before it prints it, and what comes
// after does not always write over that. It is looked for below the stack pointer, as
// text of a known form; a backtrace that the runtime printed is the end of it.
//
// It may be that of an earlier panic, which somebody caught. Whoever has the frames'
// names can tell (symbolizer/diagnosis/diagnosis_words.c).
#pragma once
#include "agent/abort_message.h"
#include "base/memory_reader.h"

// panic_words_read looks for the message around sp. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status panic_words_read(const struct memory_reader *reader,
                                           uint64_t sp,
                                           char out[static ABORT_MESSAGE_MAX]);
