// SPDX-License-Identifier: Apache-2.0
//
// What walks of one target share: its images, what is known of its code, and the rules
// and steps found so far.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

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

// unwind_space_set_debug_frames sets the function that is asked for .debug_frame.
void unwind_space_set_debug_frames(struct unwind_space *space,
                                   unwind_debug_frame_fn *find, void *context);

// unwind_space_set_sections sets the function that is asked for the rules of code that
// lies in no image.
void unwind_space_set_sections(struct unwind_space *space, unwind_sections_fn *find,
                               void *context);

// unwind_space_set_leave sets the function that is asked first for frames in code of no
// image: for a runtime that describes the code that it compiled itself.
void unwind_space_set_leave(struct unwind_space *space, unwind_leave_fn *leave,
                            void *context);

// unwind_space_is_code is an unwind_code_fn over a space.
bool unwind_space_is_code(void *context, uint64_t address);
