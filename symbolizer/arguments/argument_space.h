// SPDX-License-Identifier: Apache-2.0
//
// The images of a report with what finding arguments needs of them, and the unwinder
// over them: held stacks are walked again, by the code that walked them while the
// process was held, to recover each frame's registers.
//
// The first walk took the fastest method, which need not recover registers; this one
// uses DWARF only. It reads the held memory and, for rules and code, the images' files.
#pragma once
#include "base/memory_reader.h"
#include "symbolizer/arguments/argument_image.h"
#include "unwind/unwind.h"

struct argument_space {
    const struct report_images *from;
    const struct symbolizer_options *options;
    const struct memory_reader *held;
    struct argument_image *images; // parallel to from, opened when needed
    struct memory_reader memory;
    struct unwind_image *unwind; // by address
    size_t *image_of;            // index in images of each unwind image
    size_t *unwind_of;           // and the reverse
    const struct unwind_arch *arch;
    struct unwind_space *space; // NULL: nothing was walked yet
};

// argument_space_init makes a space over the images from, the held memory and options,
// all of which must outlive it.
CH_CHECKED enum ch_status argument_space_init(struct argument_space *space,
                                              const struct report_images *from,
                                              const struct memory_reader *held,
                                              const struct symbolizer_options *options);
void argument_space_deinit(struct argument_space *space);

// argument_space_open gives image index with its files open.
struct argument_image *argument_space_open(struct argument_space *space, size_t index);

// argument_space_walk passes each frame of a stack of architecture arch to visit. An
// image's rules are available once visit has opened it.
CH_CHECKED enum ch_status argument_space_walk(struct argument_space *space,
                                              const struct unwind_arch *arch,
                                              const struct unwind_registers *registers,
                                              unwind_frame_fn *visit, void *context);
