// SPDX-License-Identifier: Apache-2.0
//
// What a walk is given and what it gives, as plain data: registers, images, frames, and
// the questions that it asks its caller.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Registers by DWARF number. x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip;
// aarch64: x0..x30 sp pc; s390x: r0..r15 f0..f15 pc. unwind_arch.h has the numbers of
// any machine, the names here are those of the one we run on.
enum { UNWIND_REGISTERS = 33 };

#if defined(__x86_64__)
enum { UNWIND_FP = 6, UNWIND_SP = 7, UNWIND_PC = 16, UNWIND_REGISTER_COUNT = 17 };
#elif defined(__aarch64__)
enum { UNWIND_FP = 29, UNWIND_SP = 31, UNWIND_PC = 32, UNWIND_REGISTER_COUNT = 33 };
#else
#error "no registers known for this machine"
#endif

struct unwind_registers {
    uint64_t value[UNWIND_REGISTERS];
};

enum unwind_trust {
    UNWIND_TRUST_CONTEXT, // registers of the stopped thread itself
    UNWIND_TRUST_SFRAME,
    UNWIND_TRUST_CFI,
    UNWIND_TRUST_FP,
    UNWIND_TRUST_SCAN,
};

enum unwind_kind {
    UNWIND_KIND_PC, // stopped exactly here: innermost, or interrupted by a signal
    UNWIND_KIND_RA, // a call returns here
};

enum unwind_end {
    UNWIND_END_OF_STACK,
    UNWIND_END_NO_RULE,
    UNWIND_END_FAULT,
    UNWIND_END_NO_PROGRESS,
    UNWIND_END_LIMIT,
};

struct unwind_frame {
    uint64_t address;
    enum unwind_kind kind;
    enum unwind_trust trust;
};

// An unwind_image is what the unwinder needs of a loaded image. Addresses are the
// target's; a size of 0 says that the image has no such section.
struct unwind_image {
    uint64_t start; // lowest mapped address
    uint64_t end;   // one past the last
    uint64_t bias;  // address - vaddr
    uint64_t entry; // where the kernel starts the program; 0: not known
    uint64_t sframe;
    uint64_t sframe_size; // at most; the section says how long it is
    uint64_t eh_frame_hdr;
    uint64_t eh_frame_hdr_size;
    uint64_t eh_frame; // wanted only where there is no eh_frame_hdr
    uint64_t eh_frame_size;
    const uint8_t *debug_frame; // of the image's file, as its owner holds it
    size_t debug_frame_size;
};

struct unwind_state;

// An unwind_code_fn says whether address lies in executable memory of the target.
typedef bool unwind_code_fn(void *context, uint64_t address);

// An unwind_debug_frame_fn gives images[index], whose other rules do not cover all its
// code, its .debug_frame, where there is one: whoever holds the file may have to read
// much for it. It is called once for an image, and never where none asks.
typedef void unwind_debug_frame_fn(void *context, size_t index);
