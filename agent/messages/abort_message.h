// SPDX-License-Identifier: Apache-2.0
//
// The message that the C library left before it aborted the program: a failed assert, a
// corrupt heap that malloc detected, a smashed stack, a fortified function's complaint.
//
// glibc has a pointer, __abort_msg, to a size followed by the text. All of it is the
// target's memory, so the read is bounded and the text is made printable.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"

enum { ABORT_MESSAGE_MAX = 4096 };

// abort_message_read copies the text that the pointer at place leads to.
// CH_ERR_NOT_FOUND: the library has left no message. CH_ERR_FAULT: it cannot be read.
CH_CHECKED enum ch_status abort_message_read(const struct memory_reader *reader,
                                             uint64_t place,
                                             char out[static ABORT_MESSAGE_MAX]);

// abort_message_clean makes text one printable line: control characters become spaces,
// and leading and trailing ones are removed.
void abort_message_clean(char *text);

// What AddressSanitizer reported before it ended the program, from the copy of its text
// that the handler kept: which error, at what address, by what access. The rest of its
// report, backtraces and shadow bytes, is left to its own readers.

// sanitizer_words_read reads the text at place (0: none) and writes its two lines that
// say what happened as one. CH_ERR_NOT_FOUND: nothing was reported.
CH_CHECKED enum ch_status sanitizer_words_read(const struct memory_reader *reader,
                                               uint64_t place,
                                               char out[static ABORT_MESSAGE_MAX]);

// A failed assertion of a C library that stores no message, such as musl: the call of
// __assert_fail that never returned is on the stack, and the instructions before it
// load its arguments. x86-64 only.
//
// The arguments are decoded from the compiler's instructions. A sequence that does not
// look like such a call is taken for none.

// An assert_code_fn returns true if address is in code.
typedef bool assert_code_fn(void *context, uint64_t address);

struct assert_place {
    uint64_t function; // __assert_fail
    uint64_t sp;       // the thread's
    assert_code_fn *is_code;
    void *context;
};

// assert_call_read writes the message that the library printed. CH_ERR_NOT_FOUND: no
// assertion failed, or its call has another form.
CH_CHECKED enum ch_status assert_call_read(const struct memory_reader *reader,
                                           const struct assert_place *place,
                                           char out[static ABORT_MESSAGE_MAX]);
