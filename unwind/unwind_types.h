// SPDX-License-Identifier: Apache-2.0
//
// The input and output of a walk as plain data: registers, images, frames, and the
// questions it asks its caller.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sorted.h"
#include "base/status.h"

// Registers by DWARF number. x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip;
// aarch64: x0..x30 sp pc; s390x: r0..r15 f0..f15 pc. unwind_arch.h has the numbers of
// any architecture; the names here are those of the one we run on.
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
    UNWIND_TRUST_SHADOW, // the processor's own copy of the return address
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
// target's; a size of 0 means that the image has no such section.
struct unwind_image {
    uint64_t start; // lowest mapped address
    uint64_t end;   // one past the last
    uint64_t bias;  // address - vaddr
    uint64_t entry; // where the kernel starts the program; 0: not known
    uint64_t sframe;
    uint64_t sframe_size; // an upper bound; the section's header has its size
    uint64_t eh_frame_hdr;
    uint64_t eh_frame_hdr_size;
    uint64_t eh_frame; // used only where there is no eh_frame_hdr
    uint64_t eh_frame_size;
    const uint8_t *debug_frame; // of the image's file; the caller owns it
    size_t debug_frame_size;
};

struct unwind_state;

// An unwind_code_fn says whether address is in executable memory of the target.
typedef bool unwind_code_fn(void *context, uint64_t address);

// An unwind_leave_fn moves state from a frame in code of no image to its caller.
// CH_ERR_NOT_FOUND: it does not know the code.
typedef enum ch_status unwind_leave_fn(void *context, const struct unwind_frame *frame,
                                       struct unwind_state *state);

// An unwind_debug_frame_fn sets the .debug_frame of images[index], if there is one,
// when the image's other rules do not cover a pc. It may have to read a large file, so
// it is called at most once for an image, and only when it is needed.
typedef void unwind_debug_frame_fn(void *context, size_t index);

// An unwind_section is call frame information of code that is in no image, because the
// target compiled it while it ran.
struct unwind_section {
    const uint8_t *bytes; // the caller owns them
    size_t size;
    uint64_t address; // of the section in the target
    uint64_t text;    // of the code, which some encodings are relative to
    bool debug_frame; // in the format of .debug_frame, not of .eh_frame
};

// An unwind_sections_fn gives these sections, which stay until the space's end. Finding
// them may take long, so it is called at most once, when a walk comes to such code.
typedef size_t unwind_sections_fn(void *context, const struct unwind_section **out);

// image_search gives the image that contains address, or NULL. images is sorted by
// start. It is called for every frame of every walk, so it is a binary search over an
// array and nothing more.
static inline const struct unwind_image *image_search(const struct unwind_image *images,
                                                      size_t count, uint64_t address)
{
    size_t after = SORTED_UP_TO(images, count, start, address);
    if (after == 0 || address >= images[after - 1].end)
        return NULL;
    return &images[after - 1];
}
