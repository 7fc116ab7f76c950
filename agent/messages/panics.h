// SPDX-License-Identifier: Apache-2.0
//
// What Rust and Go programs panicked with, read from their memory in three ways.
//
// panic_hook: a Rust panic's message and place, as the standard library passed them to
// the panic hook. It is a `PanicHookInfo` (`PanicInfo` before 1.81) that still stands
// on the stack of the function that ends the program. Unlike what was printed
// (panic_words_read), it is there too if a backtrace was printed after the message.
// An inlined hook leaves `PanicInfo` and the payload of a formatted message instead.
//
// It has no name or tag, so its form is checked: the payload's vtable, the payload, and
// a `Location` whose file is Rust source; or the address of the message's parts in
// both. Tried with 1.63 and 1.95.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"

// A panic_search is where to look.
struct panic_search {
    uint64_t sp;
    const char *thread; // what Rust calls the thread
    // is_constant returns true if the data of an image is at address.
    bool (*is_constant)(void *context, uint64_t address);
    void *context;
};

// panic_hook_read looks for it above sp, and words it as the standard library does:
// "thread 'main' panicked at src/main.rs:4:9: no such page". CH_ERR_NOT_FOUND: there is
// none.
CH_CHECKED enum ch_status panic_hook_read(const struct memory_reader *reader,
                                          const struct panic_search *search,
                                          char out[static ABORT_MESSAGE_MAX]);

// panic_words: a Rust program's panic message, as its abort left it: the standard
// library assembles the message on the stack before printing it, and later calls do not
// always overwrite it. It is searched below the stack pointer, as text of a known form;
// it ends where the runtime's printed backtrace begins.
//
// It may belong to an earlier panic that was caught. Only the symbolized frames tell
// (symbolizer/diagnosis/diagnosis_words.c).

// panic_words_read looks for the message around sp. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status panic_words_read(const struct memory_reader *reader,
                                           uint64_t sp,
                                           char out[static ABORT_MESSAGE_MAX]);

// go_panic: what a Go program panicked with, read from the goroutine that the thread
// runs (runtime2.go: g, _panic): the runtime turns errors into strings before it prints
// them, and keeps them there. Tried with Go 1.19; the members read have not moved since
// 1.14.

// go_panic_read reads the panic of the thread with that pointer, as "panic: TEXT".
// CH_ERR_NOT_FOUND: it runs no goroutine, or that one does not panic.
CH_CHECKED enum ch_status go_panic_read(const struct memory_reader *reader,
                                        uint64_t thread_pointer,
                                        char out[static ABORT_MESSAGE_MAX]);
