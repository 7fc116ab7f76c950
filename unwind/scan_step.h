// SPDX-License-Identifier: Apache-2.0
//
// One step outward by looking through the stack for a return address, the last resort.
//
// A word counts that points into code just behind a call. Old return addresses lie on
// stacks too, so such a frame may be one that has long returned: it is labelled.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"
#include "unwind/unwind_types.h"

enum {
    SCAN_STEP_WORDS = 1024,  // looked at in one step
    SCAN_WALK_WORDS = 16384, // in one walk
};

struct scan_step {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    unwind_code_fn *is_code;
    void *context; // of is_code
};

// scan_step makes state that of the next likely caller; words_left counts down.
// CH_ERR_NOT_FOUND: no word looked at is one.
CH_CHECKED enum ch_status scan_step(const struct scan_step *scan, uint32_t *words_left,
                                    struct unwind_state *state);
