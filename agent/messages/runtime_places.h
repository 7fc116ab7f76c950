// SPDX-License-Identifier: Apache-2.0
//
// Where the C and C++ runtimes keep their last messages, for targets in which no
// handler prepared it: cores, and a libstdc++ that dlopen loaded after the handler was
// installed. They are looked up by name in the images' memory; none of the process's
// code is run.
#pragma once
#include "agent/live/capture.h"
#include "agent/messages/exception.h"

// runtime_find_abort_message is the address of glibc's __abort_msg; 0: not known.
uint64_t runtime_find_abort_message(const struct capture *capture);

// runtime_find_assert_fail is the address of the C library's __assert_fail; 0: not
// known.
uint64_t runtime_find_assert_fail(const struct capture *capture);

// runtime_find_exceptions fills in the members of place that are 0. The location of the
// thread's exceptions is decoded from the code of __cxa_get_globals, on x86-64.
void runtime_find_exceptions(const struct capture *capture,
                             struct exception_place *place);
