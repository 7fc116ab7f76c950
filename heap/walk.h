// SPDX-License-Identifier: Apache-2.0
//
// The stack of the calling thread, as return addresses.
//
// It takes no lock, allocates nothing, makes no system call and keeps errno, so that it
// may run in malloc, in any context. Call frame information is read where it is
// loaded, and each rule is cached by its address.
// Code without rules is passed by its frame pointer.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk_frame {
    uint64_t pc;
    bool is_exact; // interrupted by a signal; otherwise a return address
};

// walk_start finds where the stack of the first thread, which is the caller, ends.
void walk_start(void);

// walk_stack writes the frames from the one that returns to from on outward, and all
// frames if that is not found. Returns how many: at most limit.
size_t walk_stack(uint64_t from, struct walk_frame *frames, size_t limit);

// walk_function is the start of the function that contains pc, by its rules. 0: not
// known.
uint64_t walk_function(uint64_t pc);

// walk_image is the lowest address of the image that contains pc. 0: none does.
uint64_t walk_image(uint64_t pc);

// walk_forget drops the cached rules: an image was unloaded, and another may take its
// place.
void walk_forget(void);

// walk_encode writes frames as Compact Backtrace Format (docs/formats/cbf.md). Returns
// the size: at most limit, which is at least 2.
size_t walk_encode(const struct walk_frame *frames, size_t count, uint8_t *out,
                   size_t limit);
