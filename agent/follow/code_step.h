// SPDX-License-Identifier: Apache-2.0
//
// One instruction of a function that is followed (code_walk.h): x86-64, the general
// registers, the forms that compilers make of accessors.
#pragma once
#include "agent/follow/code_machine.h"

// code_step executes the instruction at the machine's pc. CH_ERR_UNSUPPORTED: it is not
// one of those that are understood, or depends on what is not known.
CH_CHECKED enum ch_status code_step(struct code_machine *machine);
