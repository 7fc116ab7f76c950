// SPDX-License-Identifier: Apache-2.0
//
// The unwinder turns registers, images and a memory_reader into frames. It knows no
// process: the same call walks a stopped process, a core file and a test's array.
//
// Why a walk ended is part of its result, and each frame says what it rests on (trust).
// A walk always ends: the stack must advance, and UNWIND_MAX_FRAMES is never passed.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/settings.h"
#include "unwind/unwind_arch.h"

// UNWIND_MAX_FRAMES is where a walk without a limit of its own stops.
enum { UNWIND_MAX_FRAMES = 1 << 20 };

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

// An unwind_code_fn says whether address lies in executable memory of the target.
typedef bool unwind_code_fn(void *context, uint64_t address);

struct unwind_state;

// An unwind_frame_fn is given each frame, innermost first, with the registers that are
// known of it (unwind/unwind_state.h); false ends the walk (UNWIND_END_LIMIT).
typedef bool unwind_frame_fn(void *context, const struct unwind_frame *frame,
                             const struct unwind_state *state);

// An unwind_debug_frame_fn gives images[index], whose other rules do not cover all its
// code, its .debug_frame, where there is one: whoever holds the file may have to read
// much for it. It is called once for an image, and never where none asks.
typedef void unwind_debug_frame_fn(void *context, size_t index);

// An unwind_space is the images of one target with the rules found in them so far.
struct unwind_space;

// unwind_space_create makes a space over count images, sorted by start, that must
// outlive it, as must memory. Until unwind_space_set_code every address inside an image
// counts as code. Nothing may change in the target while the space lives.
CH_CHECKED enum ch_status unwind_space_create(const struct unwind_arch *arch,
                                              const struct memory_reader *memory,
                                              const struct unwind_image *images,
                                              size_t count, struct unwind_space **out);
void unwind_space_destroy(struct unwind_space *space);

// unwind_space_set_code gives the space a test for executable addresses.
void unwind_space_set_code(struct unwind_space *space, unwind_code_fn *code,
                           void *context);

// unwind_space_set_debug_frames has the space ask for .debug_frame when it is wanted.
void unwind_space_set_debug_frames(struct unwind_space *space,
                                   unwind_debug_frame_fn *find, void *context);

// unwind_walk gives every frame of the thread with these registers to visit.
enum unwind_end unwind_walk(struct unwind_space *space,
                            const struct unwind_registers *registers,
                            enum setting_unwind how, unwind_frame_fn *visit,
                            void *context);

// unwind_find_cfa gives the canonical frame address of a frame of a walk, by the DWARF
// rules for its code. CH_ERR_NOT_FOUND: there are none. CH_ERR_UNSUPPORTED,
// CH_ERR_FAULT: they ask for a register that is not known, or for memory that is not
// there.
CH_CHECKED enum ch_status unwind_find_cfa(struct unwind_space *space,
                                          const struct unwind_frame *frame,
                                          const struct unwind_state *state,
                                          uint64_t *out);

// unwind_trust_name and unwind_end_name are the words of the report.
const char *unwind_trust_name(enum unwind_trust trust);
const char *unwind_end_name(enum unwind_end end);
