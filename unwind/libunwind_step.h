// SPDX-License-Identifier: Apache-2.0
//
// DWARF steps by libunwind, over this project's own memory, registers and image list.
//
// libunwind never touches a process here: its accessors read through the space's
// memory_reader and find unwind tables through the images' .eh_frame_hdr. The rules it
// finds are cached in its address space, so that a PC seen again needs no search.
#pragma once
#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

struct libunwind_images;
struct libunwind_walk;

// libunwind_images_create prepares tables for count images, sorted by start; the images
// must outlive it.
CH_CHECKED enum ch_status libunwind_images_create(const struct memory_reader *memory,
                                                  const struct unwind_image *images,
                                                  size_t count,
                                                  struct libunwind_images **out);
void libunwind_images_destroy(struct libunwind_images *images);

// libunwind_walk_create makes a walk that can be used again and again, by one thread at
// a time.
CH_CHECKED enum ch_status libunwind_walk_create(struct libunwind_images *images,
                                                struct libunwind_walk **out);
void libunwind_walk_destroy(struct libunwind_walk *walk);

// libunwind_walk_begin starts at registers. exact: the PC is where the thread stopped,
// not a return address.
CH_CHECKED enum ch_status libunwind_walk_begin(struct libunwind_walk *walk,
                                               const struct unwind_registers *registers,
                                               bool exact);

// libunwind_walk_registers gives PC, SP and FP of the walk's current frame; the other
// registers are 0.
CH_CHECKED enum ch_status libunwind_walk_registers(struct libunwind_walk *walk,
                                                   struct unwind_registers *out);

// libunwind_walk_in_signal returns true if the current frame is a signal's return code.
bool libunwind_walk_in_signal(struct libunwind_walk *walk);

// libunwind_walk_step moves to the caller. CH_END: this was the outermost frame.
// CH_ERR_NOT_FOUND: no rule covers the PC. CH_ERR_FAULT: a rule led to memory that
// cannot be read. After a failure the walk has to begin again.
CH_CHECKED enum ch_status libunwind_walk_step(struct libunwind_walk *walk);
