// SPDX-License-Identifier: Apache-2.0
//
// The unwinder turns registers, images and a memory_reader into frames. It knows no
// processes: the same call walks a stopped process, a core file and a test's array.
//
// The reason why a walk ended is part of its result, and each frame's trust says how it
// was found. A walk always ends: the stack must advance, and UNWIND_MAX_FRAMES is never
// exceeded.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/settings/settings.h"
#include "unwind/shadow_stack.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"
#include "unwind/unwind_types.h"

// What walks of one target share: its images, what is known of its code, and the rules
// and steps found so far.

// An unwind_space is the images of one target with a cache of the rules found in them.
struct unwind_space;

// unwind_space_create makes a space over count images, sorted by start; they and memory
// must outlive it. Until unwind_space_set_code is called, every address inside an image
// counts as code. The target must not change while the space is in use.
CH_CHECKED enum ch_status unwind_space_create(const struct unwind_arch *arch,
                                              const struct memory_reader *memory,
                                              const struct unwind_image *images,
                                              size_t count, struct unwind_space **out);
void unwind_space_destroy(struct unwind_space *space);

// unwind_space_set_code sets the test for executable addresses.
void unwind_space_set_code(struct unwind_space *space, unwind_code_fn *code,
                           void *context);

// unwind_space_set_debug_frames sets the function that is called for .debug_frame.
void unwind_space_set_debug_frames(struct unwind_space *space,
                                   unwind_debug_frame_fn *find, void *context);

// unwind_space_set_sections sets the function that is called for the rules of code that
// is in no image.
void unwind_space_set_sections(struct unwind_space *space, unwind_sections_fn *find,
                               void *context);

// unwind_space_set_leave sets the function that is called first for frames in code of
// no image: for a runtime that describes the code that it compiled itself.
void unwind_space_set_leave(struct unwind_space *space, unwind_leave_fn *leave,
                            void *context);

// unwind_space_set_shadow sets the shadow stack of the thread that is walked next,
// which then decides what its return addresses are; the walk moves it. NULL: there is
// none.
void unwind_space_set_shadow(struct unwind_space *space, struct shadow_stack *shadow);

// UNWIND_MAX_FRAMES ends a walk that has no limit of its own.
enum { UNWIND_MAX_FRAMES = 1 << 20 };

// An unwind_frame_fn receives each frame, innermost first, with its registers as far as
// they are known (unwind/unwind_state.h). Returning false ends the walk
// (UNWIND_END_LIMIT).
typedef bool unwind_frame_fn(void *context, const struct unwind_frame *frame,
                             const struct unwind_state *state);

// An unwind_frames_fn receives the next count frames, innermost first; the registers
// are those of the last one. Returning false ends the walk (UNWIND_END_LIMIT).
typedef bool unwind_frames_fn(void *context, const struct unwind_frame *frames,
                              size_t count, const struct unwind_state *state);

// unwind_walk passes every frame of the thread with these registers to visit.
enum unwind_end unwind_walk(struct unwind_space *space,
                            const struct unwind_registers *registers,
                            enum setting_unwind how, unwind_frame_fn *visit,
                            void *context);

// unwind_walk_frames is unwind_walk for a caller that does not need the registers of
// each frame: where a deep stack repeats itself, many frames come with one call.
enum unwind_end unwind_walk_frames(struct unwind_space *space,
                                   const struct unwind_registers *registers,
                                   enum setting_unwind how, unwind_frames_fn *visit,
                                   void *context);

// unwind_find_cfa gives the canonical frame address of a frame of a walk, by the DWARF
// rules for its code. CH_ERR_NOT_FOUND: there are none. CH_ERR_UNSUPPORTED,
// CH_ERR_FAULT: they need a register that is not known, or memory that cannot be read.
CH_CHECKED enum ch_status unwind_find_cfa(struct unwind_space *space,
                                          const struct unwind_frame *frame,
                                          const struct unwind_state *state,
                                          uint64_t *out);

// unwind_trust_name and unwind_end_name give the words used in reports.
const char *unwind_trust_name(enum unwind_trust trust);
const char *unwind_end_name(enum unwind_end end);
