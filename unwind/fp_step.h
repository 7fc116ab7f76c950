// SPDX-License-Identifier: Apache-2.0
//
// One step outward by the frame pointer, for code without unwind rules.
//
// A frame record is two words: the caller's frame pointer and the return address, on
// x86-64 and aarch64 alike. Code built without frame pointers may hold anything in that
// register, so a record that does not lead outward is refused.
#pragma once
#include "base/memory_reader.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"

// fp_step makes state that of the caller, of which only PC, SP and FP are then known,
// and SP only where calls push the return address: elsewhere it is a lower bound.
// CH_END: the chain ends here (frame pointer or return address 0). CH_ERR_MALFORMED:
// the frame pointer does not lead outward. CH_ERR_UNSUPPORTED: the frame pointer is not
// known, or the architecture has no such chain. CH_ERR_FAULT: its record cannot be
// read.
CH_CHECKED enum ch_status fp_step(const struct unwind_arch *arch,
                                  const struct memory_reader *memory,
                                  struct unwind_state *state);
