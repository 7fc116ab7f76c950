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
#include "unwind/unwind_types.h"

// UNWIND_MAX_FRAMES is where a walk without a limit of its own stops.
enum { UNWIND_MAX_FRAMES = 1 << 20 };

// An unwind_frame_fn is given each frame, innermost first, with the registers that are
// known of it (unwind/unwind_state.h); false ends the walk (UNWIND_END_LIMIT).
typedef bool unwind_frame_fn(void *context, const struct unwind_frame *frame,
                             const struct unwind_state *state);

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
