// SPDX-License-Identifier: Apache-2.0
//
// What is prepared for a thread before it captures its own stack: the bounds of that
// stack, a table of steps already made, and the list of images last seen.
//
// A capture in a signal handler can prepare nothing: it can neither allocate nor ask
// the C library for the stack's bounds. So the main thread is prepared when the library
// is loaded, and another one by crashhook_backtrace_thread_prepare() or its first
// ordinary capture. The pointer is a thread-local variable of the initial-exec model,
// because the first access to one of another model may allocate.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "crashhook/backtrace_values.h"

enum {
    LOCAL_STEPS = 1024,     // that one thread remembers
    LOCAL_STEPS_NEAR = 4,   // places that one address may be in
    LOCAL_IMAGES_SEEN = 32, // images that can be unloaded, and have steps
    LOCAL_CODE = 8,         // segments of code
};

// A local_step is how one frame is left by adding to registers and loading words: the
// rules of nearly every frame. A CFA by the stack pointer is above all words saved.
struct local_step {
    uint64_t pc;        // the return address; 0: the place is empty
    int32_t cfa_offset; // of the canonical frame address from its register
    uint16_t caller;    // the place of the step that followed the last time
    int16_t ra_words;   // from the CFA to the return address
    int16_t fp_words;   // from the CFA to the saved frame pointer; 0: unchanged
    bool cfa_is_fp;     // its register is the frame pointer, not the stack pointer
    bool is_last;       // the rules say that there is no caller
    uint8_t image;      // in images, plus 1; 0: it cannot be unloaded
    bool is_unusual;    // is_last, or image is not 0
};

// A local_seen is an image that steps were made from, and what it looked like then.
struct local_seen {
    uint64_t start;
    uint64_t stamp;
};

// A local_code_range is a segment of code that return addresses were in.
struct local_code_range {
    uint64_t low;
    uint64_t high;
    uint8_t image; // as in a local_step
};

struct local_thread {
    uint64_t stack_low; // of the thread's own stack; both 0: not known
    uint64_t stack_high;
    // The stack pointer of the capture that uses the table; 0: none does. A signal
    // handler that captures meanwhile must not change what that one is reading.
    volatile uint64_t busy;
    uint64_t generation; // of the dynamic linker's list when images was made
    struct crashhook_images *images; // a reference; NULL: none yet
    size_t seen_count;
    struct local_seen seen[LOCAL_IMAGES_SEEN];
    size_t code_next; // the range that is replaced next
    struct local_code_range code[LOCAL_CODE];
    struct local_step steps[LOCAL_STEPS];
};

// local_thread_own is the calling thread's, or NULL: it has not been prepared.
extern _Thread_local struct local_thread *local_thread_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// local_thread_prepare makes local_thread_own. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status local_thread_prepare(void);
