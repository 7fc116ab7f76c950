// SPDX-License-Identifier: Apache-2.0
//
// A failed assertion of a C library that keeps no word of it, as musl: the call of
// __assert_fail that never returned is on the stack, and the instructions before it say
// what it was called with. x86-64 only.
//
// The words are where the compiler put them, so they are as good as the code that was
// read: what does not look like such a call is none.
#pragma once
#include <stdbool.h>

#include "agent/abort_message.h"
#include "base/memory_reader.h"

// An assert_code_fn is true where address is in code.
typedef bool assert_code_fn(void *context, uint64_t address);

struct assert_place {
    uint64_t function; // __assert_fail
    uint64_t sp;       // of the thread
    assert_code_fn *is_code;
    void *context;
};

// assert_call_read writes what the library printed. CH_ERR_NOT_FOUND: no assertion
// failed, or its call is of another form.
CH_CHECKED enum ch_status assert_call_read(const struct memory_reader *reader,
                                           const struct assert_place *place,
                                           char out[static ABORT_MESSAGE_MAX]);
