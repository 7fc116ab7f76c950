// SPDX-License-Identifier: Apache-2.0
//
// One step outward by searching the stack for a return address, the last resort.
//
// A word counts if it points into code just after a call. Stacks also hold stale return
// addresses, so such a frame may be of a function that returned long ago; its trust
// says so.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"
#include "unwind/unwind_types.h"

enum {
    SCAN_STEP_WORDS = 1024,  // examined in one step
    SCAN_WALK_WORDS = 16384, // in one walk
};

struct scan_step {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    unwind_code_fn *is_code;
    void *context; // of is_code
};

// scan_step makes state that of the next likely caller; words_left counts down.
// CH_ERR_NOT_FOUND: no word examined is a return address.
CH_CHECKED enum ch_status scan_step(const struct scan_step *scan, uint32_t *words_left,
                                    struct unwind_state *state);
