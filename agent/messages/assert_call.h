// SPDX-License-Identifier: Apache-2.0
//
// A failed assertion of a C library that stores no message, such as musl: the call of
// __assert_fail that never returned is on the stack, and the instructions before it
// load its arguments. x86-64 only.
//
// The arguments are decoded from the compiler's instructions. A sequence that does not
// look like such a call is taken for none.
#pragma once
#include <stdbool.h>

#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"

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
