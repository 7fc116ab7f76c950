// SPDX-License-Identifier: Apache-2.0
//
// State that is kept between captures of this process: the image list and the unwind
// rules found so far.
//
// A space serves one capture at a time. Idle ones are kept in a few slots that are
// emptied and refilled by atomic exchanges, so that there is no lock that a fork could
// leave held, and threads that capture in turn share what was found. A space that is
// older than the last dlopen or dlclose is discarded when it is taken.
#pragma once
#include "backtrace/local_memory.h"
#include "crashhook/backtrace_values.h"
#include "images/images.h"
#include "unwind/backtrace_limit.h"
#include "unwind/unwind.h"

struct local_space {
    uint64_t generation; // of the dynamic linker's list when this was made
    struct local_memory memory;
    struct memory_reader reader;
    struct target_images target;
    bool any_sframe; // one of the images has such a section
    struct unwind_space *unwind;
    struct crashhook_images *images;
    struct backtrace_limit frames;
};

// local_space_take gives a space with the current images, for the caller's exclusive
// use.
CH_CHECKED enum ch_status local_space_take(struct local_space **out);

// local_space_give_back makes it available to others.
void local_space_give_back(struct local_space *space);
