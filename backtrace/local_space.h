// SPDX-License-Identifier: Apache-2.0
//
// What captures of this process keep between them: the image list and the unwind rules
// found so far.
//
// A space serves one capture at a time. Those not in use wait in a few slots that are
// taken and refilled by one atomic exchange, so that there is no lock that a fork could
// leave held, and threads that capture by turns share what was learned. A space that is
// older than the last dlopen or dlclose is thrown away when it is found.
#pragma once
#include "agent/images.h"
#include "backtrace/local_memory.h"
#include "crashhook/backtrace_values.h"
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

// local_space_take gives a space that knows the images of now, for the caller alone.
CH_CHECKED enum ch_status local_space_take(struct local_space **out);

// local_space_give_back lets others have it.
void local_space_give_back(struct local_space *space);
