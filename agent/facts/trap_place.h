// SPDX-License-Identifier: Apache-2.0
//
// Where a trap was raised. The processor executes a breakpoint instruction before it
// reports it, so that the saved pc is after the instruction, perhaps in the next
// function: a breakpoint that compilers put after a call that does not return is often
// the last byte of its function.
#pragma once
#include "agent/live/capture.h"

// trap_place_correct moves the pc of a crash by a breakpoint instruction of x86-64 back
// to that instruction. It leaves other crashes, and traps after anything else, alone.
void trap_place_correct(struct capture *capture);
