// SPDX-License-Identifier: Apache-2.0
//
// The images of a report with what arguments are found by, and the unwinder over them:
// the stacks that were held are walked again, by the code that walked them while the
// process was held, to know each frame's registers.
//
// That walk took the quickest way, which need not restore registers; this one goes by
// DWARF alone. Its memory is what was held and, for rules and code, the images' files.
#pragma once
#include "base/memory_reader.h"
#include "symbolizer/arguments/argument_image.h"
#include "unwind/unwind.h"

struct argument_space {
    const struct report_images *from;
    const struct symbolizer_options *options;
    const struct memory_reader *held;
    struct argument_image *images; // as many as from has, opened as they are needed
    struct memory_reader memory;
    struct unwind_image *unwind; // by address
    size_t *image_of;            // the number of an unwind image in images
    size_t *unwind_of;           // and back
    const struct unwind_arch *arch;
    struct unwind_space *space; // NULL: nothing was walked
};

// argument_space_init makes a space over the images from, what was held and options,
// all of which must outlive it.
CH_CHECKED enum ch_status argument_space_init(struct argument_space *space,
                                              const struct report_images *from,
                                              const struct memory_reader *held,
                                              const struct symbolizer_options *options);
void argument_space_deinit(struct argument_space *space);

// argument_space_open gives image number index, with its files open.
struct argument_image *argument_space_open(struct argument_space *space, size_t index);

// argument_space_walk gives each frame of a stack of a machine of that arch to visit.
// The rules of an image are there once visit has opened it.
CH_CHECKED enum ch_status argument_space_walk(struct argument_space *space,
                                              const struct unwind_arch *arch,
                                              const struct unwind_registers *registers,
                                              unwind_frame_fn *visit, void *context);
