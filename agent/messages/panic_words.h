// SPDX-License-Identifier: Apache-2.0
//
// A Rust program's panic message, as its abort left it: the standard library assembles
// the message on the stack before printing it, and later calls do not always overwrite
// it. It is searched below the stack pointer, as text of a known form; it ends where
// the runtime's printed backtrace begins.
//
// It may belong to an earlier panic that was caught. Only the symbolized frames tell
// (symbolizer/diagnosis/diagnosis_words.c).
#pragma once
#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"

// panic_words_read looks for the message around sp. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status panic_words_read(const struct memory_reader *reader,
                                           uint64_t sp,
                                           char out[static ABORT_MESSAGE_MAX]);
