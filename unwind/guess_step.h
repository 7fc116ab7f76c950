// SPDX-License-Identifier: Apache-2.0
//
// Steps outward without unwind rules: by the frame pointer, and by a search of the
// stack. The walk (unwind.c) tries them after all rules.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"
#include "unwind/unwind_types.h"

// One step outward by the frame pointer, for code without unwind rules.
//
// A frame record is two words: the caller's frame pointer and the return address, on
// x86-64 and aarch64 alike. Code built without frame pointers may hold anything in that
// register, so a record that does not lead outward is refused.

// GUESS_FRAME_BYTES: a frame record further from the stack pointer is refused. No sane
// frame is larger, whereas a stray value in the frame pointer register usually is
// further away.
enum { GUESS_FRAME_BYTES = 8 << 20 };

// fp_step makes state that of the caller, of which only PC, SP and FP are then known,
// and SP only where calls push the return address: elsewhere it is a lower bound.
// CH_END: the chain ends here (frame pointer or return address 0). CH_ERR_MALFORMED:
// the frame pointer does not lead outward. CH_ERR_UNSUPPORTED: the frame pointer is not
// known, or the architecture has no such chain. CH_ERR_FAULT: its record cannot be
// read.
CH_CHECKED enum ch_status fp_step(const struct unwind_arch *arch,
                                  const struct memory_reader *memory,
                                  struct unwind_state *state);

// One step outward by searching the stack for a return address, the last resort.
//
// A word counts if it points into code just after a call. Stacks also hold stale return
// addresses, so such a frame may be of a function that returned long ago; its trust
// says so.

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
