// SPDX-License-Identifier: Apache-2.0
//
// What a Go program panicked with, read from the goroutine that the thread runs
// (runtime2.go: g, _panic): the runtime turns errors into strings before it prints
// them, and keeps them there. Tried with Go 1.19; the members read have not moved since
// 1.14.
#pragma once
#include <stdint.h>

#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"

// go_panic_read reads the panic of the thread with that pointer, as "panic: TEXT".
// CH_ERR_NOT_FOUND: it runs no goroutine, or that one does not panic.
CH_CHECKED enum ch_status go_panic_read(const struct memory_reader *reader,
                                        uint64_t thread_pointer,
                                        char out[static ABORT_MESSAGE_MAX]);
