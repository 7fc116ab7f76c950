// SPDX-License-Identifier: Apache-2.0
//
// Where the C and C++ runtimes keep what they said, where no handler has prepared it:
// in cores, and of a libstdc++ that dlopen brought after the handler was installed.
// Looked up by name in the images' memory; nothing of the process is run.
#pragma once
#include "agent/capture.h"
#include "agent/exception.h"

// runtime_find_abort_message is where glibc's __abort_msg is; 0: not known.
uint64_t runtime_find_abort_message(const struct capture *capture);

// runtime_find_assert_fail is where the C library has __assert_fail; 0: not known.
uint64_t runtime_find_assert_fail(const struct capture *capture);

// runtime_find_exceptions fills in what of place is 0. Where the thread's exceptions
// are is read out of the code of __cxa_get_globals, on x86-64.
void runtime_find_exceptions(const struct capture *capture,
                             struct exception_place *place);
