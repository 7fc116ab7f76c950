// SPDX-License-Identifier: Apache-2.0
//
// The AArch64 instructions that compute one register from others, of a function that is
// followed (code_walk.h): sums, logic, constants, shifts, selections. Nothing of
// floating point or vectors is known.
#pragma once
#include "agent/follow/arm_insn.h"

// arm_compute_step executes one of them. CH_ERR_NOT_FOUND: it is not one of them.
// CH_ERR_UNSUPPORTED: it depends on what is not known.
CH_CHECKED enum ch_status arm_compute_step(struct arm_insn *insn);
